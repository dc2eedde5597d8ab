//go:build linux

package collect

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// Running is a process image that is recorded and runs.
type Running struct {
	PID, Image int
	// Bytes is what it had in use at its last snapshot.
	Bytes int64
}

// Running returns the process images that are recorded and run, those with most in use first. It is called while Run
// runs.
func (c *Collector) Running() (list []Running) {
	c.do(func() {
		for _, pid := range c.pids() {
			p := c.procs[pid]
			if !p.recorded || !p.known || p.ended || p.newest == nil || p.last().isWrapper() {
				continue
			}
			list = append(list, Running{pid, p.last().number, p.newest.InuseBytes})
		}
	})
	slices.SortStableFunc(list, func(a, b Running) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}

// Copied tells the collector how many copies of recorded processes there are. A copy shares the memory of its process,
// whose proportional set size it makes smaller: that is not written meanwhile.
func (c *Collector) Copied(copies int) { c.do(func() { c.copies = copies }) }

// Leaving tells the collector that a process is about to run its exit handlers.
func (c *Collector) Leaving(pid int) {
	now := time.Now().UTC()
	c.do(func() {
		if pid == c.o.Root {
			c.leaving = now
		}
	})
}

// look is what was seen of a process image.
type look struct {
	of   Running
	path string
}

// AddLook stores what was seen of a process image, instead of what was seen before. It is called while Run runs.
func (c *Collector) AddLook(of Running, l *answer.Look) { c.do(func() { c.addLook(of, l) }) }

func (c *Collector) addLook(of Running, l *answer.Look) {
	if c.imageOf(of) == nil { // it has ended meanwhile, and was forgotten
		return
	}
	var b bytes.Buffer
	err := answer.Write(&b, l)
	path := written.ImageName(c.o.Prefix, of.PID, of.Image, manifest.HoldersSuffix)
	if err == nil {
		err = writeAtomic(path, 0, &b)
	}
	if err != nil {
		c.checkWrite(err)
		return
	}
	if !slices.ContainsFunc(c.looks, func(l look) bool { return l.path == path }) {
		c.looks = append(c.looks, look{of, path})
	}
}

// imageOf returns a process image, or nil if nothing is stored of it.
func (c *Collector) imageOf(r Running) *image {
	if p := c.procs[r.PID]; p != nil {
		for _, img := range p.images {
			if img.number == r.Image {
				return img
			}
		}
	}
	return nil
}

// forgetLooks removes what was seen of a process.
func (c *Collector) forgetLooks(pid int) {
	c.looks = slices.DeleteFunc(c.looks, func(l look) bool {
		if l.of.PID == pid {
			_ = os.Remove(l.path)
		}
		return l.of.PID == pid
	})
}

// keepLooks adds the files about the process images that have snapshots to the manifest, and removes the others.
func (c *Collector) keepLooks() {
	for _, l := range c.looks {
		if img := c.imageOf(l.of); img == nil || len(img.series) == 0 {
			_ = os.Remove(l.path)
			continue
		}
		c.checkWrite(c.out.File(manifest.File{
			File: filepath.Base(l.path), Path: l.path, Kind: manifest.KindHolders, PID: l.of.PID,
		}))
	}
}
