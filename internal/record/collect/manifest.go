//go:build linux

package collect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// writeImage adds a process image, of which s is the first snapshot, to the manifest.
func (c *Collector) writeImage(p *process, img *image, s *snapshot) {
	record := manifest.Process{PID: p.pid, Image: img.number, Parent: p.parent, Exe: img.exe, Started: s.Time.UTC()}
	if info, ok := proc.Read(p.pid); ok && p.known {
		record.Command, record.Link = info.Command, proc.Link(info, proc.SearchPath())
		if len(p.images) == 1 {
			record.Started = info.Started.UTC()
		}
	}
	c.checkWrite(c.out.Process(record))
}

// write adds a snapshot to the manifest. live reports that the process still has the memory of the
// snapshot, so that its RSS, PSS and processor time are recorded.
func (c *Collector) write(p *process, s *snapshot, live bool) {
	r := manifest.Snapshot{
		File: s.FileName(), Time: s.Time.UTC(), PID: p.pid, Image: s.image, Trigger: s.trigger,
	}
	if live {
		r.RSS, r.PSS = proc.Memory(p.pid)
		if c.copies > 0 {
			r.PSS = nil
		}
		r.CPU = proc.CPU(p.pid)
	}
	if e := s.event; e != nil { // what the process itself measured at that moment
		r.CPU = cmp.Or(e.CPU, r.CPU)
		if r.PSS == nil { // RSS and PSS are of the same moment
			r.RSS = cmp.Or(e.RSS, r.RSS)
		}
	}
	c.checkWrite(c.out.Snapshot(r))
}

// identifyAll adds the mapped files that are new to the manifest, and holds them.
func (c *Collector) identifyAll(pid int, maps []string) {
	for _, path := range maps {
		if c.o.HoldFiles {
			c.files.Add(pid, path)
		}
		if c.mapped[path] {
			continue
		}
		c.mapped[path] = true
		if m, ok := proc.Identify(path, pid); ok {
			c.checkWrite(c.out.Mapping(m))
		}
	}
}

// writeWorkers writes the numbers of workers of which there is nothing to the manifest.
func (c *Collector) writeWorkers() {
	missing := map[int]int64{}
	for pid, parent := range c.workers {
		if c.procs[pid] == nil { // it has written no snapshot since
			missing[parent]++
		}
	}
	c.writeCounts(manifest.ProblemWorkers, missing)
	c.countShort()
	c.writeCounts(manifest.ProblemRemoved, c.removed)
	for _, p := range c.strangers.problems(time.Now()) {
		if pids := c.pids(); c.procs[p.PID] == nil && len(pids) > 0 {
			p.PID = pids[0] // a wrapper, such as a shell, runs both
		}
		c.checkWrite(c.out.Problem(p))
	}
}

// writeOwnHeaps writes the processes whose language has a heap of its own, which no engine sees, to the manifest.
func (c *Collector) writeOwnHeaps() {
	for _, pid := range c.pids() {
		for _, img := range c.procs[pid].images {
			if img.ownHeap != "" && len(img.series) > 0 {
				c.checkWrite(c.out.Problem(manifest.Problem{
					PID: pid, Image: img.number, Kind: manifest.ProblemHeap, Detail: img.ownHeap,
				}))
			}
		}
	}
}

// writeCounts writes numbers of children, by their parents.
func (c *Collector) writeCounts(kind string, of map[int]int64) {
	for _, parent := range slices.Sorted(maps.Keys(of)) {
		c.checkWrite(c.out.Problem(manifest.Problem{PID: parent, Kind: kind, Count: of[parent]}))
	}
}

// writeProblems copies what the engine reported to the manifest.
func (c *Collector) writeProblems() {
	problems, errs := c.events.Finish()
	for _, p := range problems {
		c.checkWrite(c.out.Problem(p))
		c.engineNotes = append(c.engineNotes, written.ProblemText(p))
	}
	for _, err := range errs {
		c.checkWrite(err)
	}
}

// keepFrames adds the frames files of the process images that have snapshots to the manifest, and
// removes those of the others.
func (c *Collector) keepFrames() {
	owners := map[string]int{} // by path: the process
	for _, pid := range c.pids() {
		for _, img := range c.procs[pid].images {
			if len(img.series) > 0 {
				owners[written.ImageName(c.o.Prefix, pid, img.number, manifest.FramesSuffix)] = pid
			}
		}
	}
	for _, path := range c.events.Frames() {
		pid, kept := owners[path]
		if !kept {
			_ = os.Remove(path)
			continue
		}
		c.checkWrite(c.out.File(manifest.File{
			File: filepath.Base(path), Path: path, Kind: manifest.KindFrames, PID: pid,
		}))
	}
}

// checkWrite stores an error of the manifest, which may be nil. Its message names the directory.
func (c *Collector) checkWrite(err error) {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = fmt.Errorf("%s: %w", c.o.Shown, pe.Err)
	}
	c.problem(err)
}
