//go:build linux

package collect

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
)

// drop removes a snapshot and records that in the manifest. Otherwise a reader would report its
// number as missing.
func (c *Collector) drop(s *snapshot, reason string) {
	c.checkWrite(c.out.Drop(manifest.Drop{File: s.FileName(), Reason: reason}))
	c.bytes -= s.Size
	s.dropped = true
	_ = os.Remove(s.stored())
}

// leastKept is the number of snapshots of each process image that KeepBytes leaves: with fewer,
// growth may take a filling cache for a leak.
const leastKept = 12

// thin removes snapshots above the limits: of this process image above Keep, and of those that take
// most space above KeepBytes.
func (c *Collector) thin(img *image) {
	for c.o.Keep > 0 && len(img.series) > c.o.Keep {
		c.thinOut(img)
	}
	for c.o.KeepBytes > 0 && c.bytes > c.o.KeepBytes {
		largest := c.largestImage()
		if largest == nil && !c.removeRecycled() {
			return
		}
		if largest != nil {
			c.thinOut(largest)
		}
	}
}

// largestImage returns the process image whose snapshots take most space, among those with more
// than leastKept; nil if there is none.
func (c *Collector) largestImage() (largest *image) {
	var most int64
	for _, img := range c.images() {
		var bytes int64
		for _, s := range img.series {
			bytes += s.Size
		}
		if len(img.series) > leastKept && bytes > most {
			largest, most = img, bytes
		}
	}
	return largest
}

// thinOut removes the most redundant snapshot of a process image.
func (c *Collector) thinOut(img *image) {
	times := make([]time.Time, len(img.series))
	for i, s := range img.series {
		times[i] = s.Time
	}
	i := outdir.MostRedundant(times)
	c.drop(img.series[i], manifest.DropThinned)
	delete(c.seen, img.series[i].FileName())
	img.series = slices.Delete(img.series, i, i+1)
}

// minSnapshots is the minimum number of snapshots for a verdict of growth.
const minSnapshots = 6

// prune removes the snapshots of wrappers if there is a program, and those of short-lived helpers
// if there is a program with a longer series.
func (c *Collector) prune() {
	if c.o.Scope == All {
		return
	}
	programs := 0
	var longest time.Duration
	for _, img := range c.images() {
		if !img.isWrapper() && len(img.series) > 0 {
			programs++
			longest = max(longest, img.span())
		}
	}
	for _, pid := range c.pids() {
		p := c.procs[pid]
		for _, img := range p.images {
			wrapper := img.isWrapper() && programs > 0
			few := len(img.series) < minSnapshots && (!p.worker || img.span() < leastOfWorker)
			if wrapper || few && 5*img.span() < longest {
				c.dropImage(img)
			}
		}
	}
}

// dropImage removes all snapshots of a process image.
func (c *Collector) dropImage(img *image) {
	for _, s := range img.series {
		c.drop(s, manifest.DropHelper)
		delete(c.seen, s.FileName())
	}
	img.series = nil
}

const (
	// leastOfWorker is the time between the first and the last snapshot of a worker from which on
	// they are kept, also if they are too few for a verdict: growth counts such workers.
	leastOfWorker = time.Second
	// maxRecycled is the number of workers that have ended of which snapshots are kept: a server
	// may replace its workers all the time.
	maxRecycled = 100
)

// shortWorker is what is known of workers that were forgotten because they ended soon.
type shortWorker struct {
	parent int
	exe    string
}

// countShort counts the workers that were forgotten and ran a program of the recording. Others were taken for workers
// before it began, such as what a shell runs first.
func (c *Collector) countShort() {
	for _, img := range c.images() {
		if len(img.series) == 0 {
			continue
		}
		for w, n := range c.short {
			if w.exe == img.exe {
				c.removed[w.parent] += n
				delete(c.short, w)
			}
		}
	}
}

// retire is called when all snapshots of a process that has ended are added.
func (c *Collector) retire(p *process) {
	if p.retired {
		return
	}
	p.retired = true
	if !p.worker {
		return
	}
	if p.kept() < minSnapshots && p.last().span() < leastOfWorker {
		c.forget(p)
		if p.snapshots > 1 { // else it was a fork that ran another program
			c.short[shortWorker{cmp.Or(p.parent, c.o.Root), p.last().exe}]++
		}
		return
	}
	c.recycled = append(c.recycled, p)
	if len(c.recycled) > maxRecycled {
		c.removeRecycled()
	}
}

// removeRecycled removes the worker that tells least, of those that have ended: the one with the
// fewest snapshots, and of these the oldest. It returns false if there is none.
func (c *Collector) removeRecycled() bool {
	if len(c.recycled) == 0 {
		return false
	}
	least := 0
	for i, p := range c.recycled {
		if p.kept() < c.recycled[least].kept() {
			least = i
		}
	}
	c.remove(least)
	return true
}

// remove removes all that is stored of a worker that has ended, and counts it.
func (c *Collector) remove(i int) {
	p := c.recycled[i]
	c.recycled = slices.Delete(c.recycled, i, i+1)
	c.forget(p)
	c.removed[cmp.Or(p.parent, c.o.Root)]++
}

// forget removes all that is stored of a process that has ended.
func (c *Collector) forget(p *process) {
	for _, img := range p.images {
		c.dropImage(img)
		c.events.Remove(p.pid, img.number)
	}
	c.forgetLooks(p.pid)
	delete(c.procs, p.pid)
}

// dropTeardown removes the snapshots that the timer took while the program was freeing its memory
// before it exited. In them, a leak seems to have stopped. The snapshot of the exit itself is kept:
// readers know it by its trigger.
func (c *Collector) dropTeardown(img *image) {
	from, last := teardownStart(img.series), len(img.series)-1
	if last < minSnapshots || from >= last {
		return
	}
	for _, s := range img.series[from:last] {
		c.drop(s, manifest.DropTeardown)
	}
	img.series = slices.Delete(img.series, from, last)
}

// teardownStart returns the index of the first snapshot after the heap has begun to shrink for the
// last time, if it shrinks by more than half and within the last tenth of the run or the last two
// seconds. Otherwise it returns the number of snapshots.
func teardownStart(series []*snapshot) int {
	last := len(series) - 1
	window := max(2*time.Second, series[last].Time.Sub(series[0].Time)/10)
	top := last
	for top > 0 && series[top-1].InuseBytes >= series[top].InuseBytes &&
		series[last].Time.Sub(series[top].Time) <= window {
		top--
	}
	if 2*series[last].InuseBytes < series[top].InuseBytes {
		return top + 1
	}
	return len(series)
}
