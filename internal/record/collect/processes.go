//go:build linux

package collect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/atomicfile"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// process is a process that writes snapshots.
type process struct {
	pid, parent int
	user        int  // its effective user, or that of this process if it is not known
	known       bool // /proc/PID describes this process, not another one with the same number
	recorded    bool
	worker      bool // of the main program
	ended       bool
	retired     bool // retire was called
	images      []*image
	newest      *snapshot // the last one that it wrote
	snapshots   int       // number of snapshots that it wrote, including removed ones
}

// image is a process image: the program that a process runs between two calls of exec.
type image struct {
	number  int
	base    string // address and path of its first mapping
	exe     string
	ownHeap string      // the language that has a heap of its own, or ""
	series  []*snapshot // the snapshots that are kept
	highest int64       // maximum of the bytes in use, over all snapshots
}

// last returns the current process image.
func (p *process) last() *image { return p.images[len(p.images)-1] }

func (i *image) isWrapper() bool { return program.IsWrapper(i.exe) }

// span returns the time from the first to the last snapshot.
func (i *image) span() time.Duration {
	if len(i.series) == 0 {
		return 0
	}
	return i.series[len(i.series)-1].Time.Sub(i.series[0].Time)
}

// process returns the process of a snapshot. It adds the process when its first snapshot appears.
func (c *Collector) process(pid int, s *snapshot) *process {
	if p := c.procs[pid]; p != nil {
		return p
	}
	info, ok := proc.Read(pid)
	p := &process{pid: pid, user: os.Geteuid()}
	p.known = ok && (pid == c.o.Root || strings.TrimSuffix(info.Exe, proc.DeletedSuffix) == s.Exe())
	if p.known {
		p.parent = info.Parent
	}
	main := pid == c.o.Root || c.isMain(p, s.Exe())
	p.worker = !main && c.o.Scope == Workers && c.isMainFile(s.Exe())
	p.recorded = main || p.worker || c.o.Scope == All
	if main && !program.IsWrapper(s.Exe()) {
		c.programs[s.Exe()] = true
	}
	c.procs[pid] = p
	return p
}

// isMain reports whether a process runs a main program: its ancestors up to Root are all wrappers
// (sh -c, env, timeout, …). If the process has ended, its parent is unknown; isMain then decides by
// the program of the root process, and by whether another process runs the file exe.
func (c *Collector) isMain(p *process, exe string) bool {
	if parent := c.procs[p.parent]; parent != nil && len(parent.images) > 0 {
		return parent.recorded && parent.last().isWrapper()
	}
	above, ok := proc.Read(p.parent)
	if ok && above.Exe != "" && p.parent > 1 {
		parent := &process{pid: p.parent, parent: above.Parent}
		return program.IsWrapper(above.Exe) && (p.parent == c.o.Root || c.isMain(parent, above.Exe))
	}
	if c.o.Scope == Workers && c.programs[exe] {
		return false
	}
	root := c.procs[c.o.Root]
	return root == nil || len(root.images) == 0 || root.last().isWrapper()
}

// isMainFile reports whether a file is that of a main program. The main program may have written no
// snapshot yet.
func (c *Collector) isMainFile(exe string) bool {
	for _, pid := range mainPrograms(c.o.Root) {
		if info, ok := proc.Read(pid); ok && info.Exe != "" {
			c.programs[strings.TrimSuffix(info.Exe, proc.DeletedSuffix)] = true
		}
	}
	for path := range c.programs {
		if path == exe || atomicfile.SameFile(path, exe) {
			return true
		}
	}
	return len(c.programs) == 0 // it has ended: the engine has compared the files
}

// kept returns the number of snapshots that are kept.
func (p *process) kept() (n int) {
	for _, img := range p.images {
		n += len(img.series)
	}
	return n
}

// image returns the process image that wrote a snapshot. If the engine does not tell, a new image
// begins when the program or its address changes, which an exec does.
func (c *Collector) image(p *process, s *snapshot) *image {
	number := len(p.images)
	if s.event != nil {
		number = s.event.Image
	}
	if n := len(p.images); n > 0 && (p.images[n-1].number == number || s.event == nil && p.images[n-1].base == s.Base) {
		return p.images[n-1]
	}
	img := &image{number: number, base: s.Base, exe: s.Exe()}
	if program.IsGo(fmt.Sprintf("/proc/%d/exe", p.pid)) {
		img.ownHeap = "Go"
	}
	p.images = append(p.images, img)
	c.writeImage(p, img, s)
	return img
}

// pids returns the numbers of all processes that wrote snapshots, in ascending order.
func (c *Collector) pids() []int {
	pids := make([]int, 0, len(c.procs))
	for pid := range c.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// images returns the process images of all processes that wrote snapshots.
func (c *Collector) images() []*image {
	var out []*image
	for _, pid := range c.pids() {
		out = append(out, c.procs[pid].images...)
	}
	return out
}

// lastOf returns the last snapshot of a process, or nil if it has none.
func (c *Collector) lastOf(pid int) *snapshot {
	p := c.procs[pid]
	if p == nil || len(p.images) == 0 || len(p.last().series) == 0 {
		return nil
	}
	series := p.last().series
	return series[len(series)-1]
}

// checkProcesses finds processes that ended and child processes that are not recorded.
func (c *Collector) checkProcesses() {
	for _, pid := range c.pids() {
		p := c.procs[pid]
		switch {
		case p.ended: // a second ago: its last snapshot has been added
			c.retire(p)
		case pid != c.o.Root && !proc.Alive(pid):
			c.end(p)
		case p.known:
			c.noteChildren(pid)
		}
	}
	c.noteChildren(c.o.Root) // it may have written no snapshot yet
	below := proc.Descendants(c.o.Root)
	c.noteFilters(below)
	c.noteStrangers(below)
	c.resident = cmp.Or(proc.Resident(c.o.Root), c.resident)
}

// end notes that a process has ended.
func (c *Collector) end(p *process) {
	p.ended = true
	if p.known {
		c.copyMaps(p, true)
		c.checkWrite(c.out.End(manifest.End{PID: p.pid, Time: time.Now().UTC()}))
	}
}

// noteFilters finds programs under a seccomp filter that this process does not have, such as that
// of a sandbox which the command has made. The engine does not record them. below are the processes below the root.
func (c *Collector) noteFilters(below []int) {
	own := proc.Filters(os.Getpid())
	for _, pid := range append([]int{c.o.Root}, below...) {
		if c.procs[pid] != nil || proc.Filters(pid) <= own {
			continue
		}
		info, ok := proc.Read(pid)
		if ok && info.Exe != "" && !program.IsWrapper(info.Exe) && c.o.Scope.Includes(c.o.Root, pid) {
			c.filtered[filepath.Base(info.Exe)] = true
		}
	}
}

// noteChildren counts the children of a process that are not recorded.
func (c *Collector) noteChildren(pid int) {
	if p := c.procs[pid]; p != nil && !p.recorded {
		return
	}
	info, ok := proc.Read(pid)
	if !ok || info.Exe == "" || program.IsWrapper(info.Exe) {
		return
	}
	for _, child := range proc.Children(pid) {
		if c.procs[child] != nil || c.idle[child] {
			continue
		}
		other, ok := proc.Read(child)
		if !ok || other.Exe == "" { // it has ended
			continue
		}
		same, name := proc.SameProgram(child, pid), filepath.Base(strings.TrimSuffix(other.Exe, proc.DeletedSuffix))
		switch {
		case !same && proc.OtherRoot(child):
			c.contained[child] = name
			delete(c.unrecorded, child)
		case c.o.Scope != All && (!same || c.o.Scope == MainOnly):
			c.unrecorded[child] = name
		}
		if same && c.o.Scope != All && hasBegun(other) {
			c.noteWorker(child, pid)
		}
	}
}

// noteWorker notes a worker that has written no snapshot. In a recording of workers, one into which
// the engine is loaded has only been idle.
func (c *Collector) noteWorker(pid, parent int) {
	if c.o.Scope == Workers && c.o.Library != "" && proc.Maps(pid, c.o.Library) && proc.Filters(pid) <= proc.Filters(os.Getpid()) {
		c.idle[pid] = true
		return
	}
	c.workers[pid] = parent
}

// hasBegun reports whether a process is not about to start another program or to end.
func hasBegun(p proc.Info) bool {
	const starting = 2 * time.Second
	return time.Since(p.Started) >= starting
}

// living returns the processes of the recording other than the program that are alive.
func (c *Collector) living() (list []int) {
	for _, pid := range c.pids() {
		if pid != c.o.Root && proc.Alive(pid) {
			list = append(list, pid)
		}
	}
	return list
}
