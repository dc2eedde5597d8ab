//go:build linux

package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
)

// collector follows the directory while the program runs: it writes down each snapshot that is complete, drops those that
// nobody asked for, and thins out. All its state belongs to its own goroutine; others ask it by do.
type collector struct {
	plan *Plan
	dir  string
	root int // the process that record started
	out  *manifest.Writer
	jit  jitCopies

	procs  map[int]*process
	seen   map[string]bool // names of snapshots
	mapped map[string]bool // paths that were identified
	asked  map[int]bool    // processes that were asked for a snapshot

	unfinished int             // snapshots that were cut short
	strangers  map[int]bool    // child processes that are not recorded
	problems   map[string]bool // what went wrong, to be said once

	requests chan func()
	stopped  chan struct{}
}

// process is one that writes snapshots.
type process struct {
	pid, parent int
	known       bool // /proc is about this process
	wanted      bool
	ended       bool
	images      []*image
	snapshots   int // all that were ever written
}

// image is a program that a process runs, from one exec to the next.
type image struct {
	number  int
	base    string // where it lies
	exe     string
	series  []*snapshotFile // those that are kept
	highest int64           // bytes in use, of all snapshots so far
}

func newCollector(p *Plan, out *manifest.Writer) *collector {
	dir := filepath.Dir(p.prefix)
	return &collector{
		plan: p, dir: dir, out: out, jit: jitCopies{dir: dir},
		procs: map[int]*process{}, seen: map[string]bool{}, mapped: map[string]bool{}, asked: map[int]bool{},
		strangers: map[int]bool{}, problems: map[string]bool{},
		requests: make(chan func()), stopped: make(chan struct{}),
	}
}

// sweepEvery is how often the directory is looked through for what no event told of, and the processes for those that ended.
const sweepEvery = time.Second

// run is the collector's goroutine. It ends with stop.
func (c *collector) run(w *watcher) {
	defer close(c.stopped)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var names chan string
	if w != nil {
		names = w.names
	}
	for {
		select {
		case name, ok := <-names:
			if !ok {
				names = nil
				continue
			}
			c.take(name, true)
		case <-tick.C:
			c.sweep(2 * sweepEvery)
			c.lookAround()
		case f, ok := <-c.requests:
			if !ok {
				return
			}
			f()
		}
	}
}

// do runs a function within the collector's goroutine, and waits for it.
func (c *collector) do(f func()) {
	done := make(chan struct{})
	c.requests <- func() { f(); close(done) }
	<-done
}

// stop ends the goroutine: its state may be used after that.
func (c *collector) stop() {
	close(c.requests)
	<-c.stopped
}

// sweep takes the snapshots that have not changed for some time.
func (c *collector) sweep(settled time.Duration) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.problem(err)
		return
	}
	for _, e := range entries {
		if c.seen[e.Name()] || !strings.HasSuffix(e.Name(), ".heap") {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) >= settled {
			c.take(e.Name(), false)
		}
	}
}

// take looks at a snapshot. closed: it was closed just now, so that it is complete or never will be, and its process is as it
// was then.
func (c *collector) take(name string, closed bool) {
	parsed, ok := parseName(name, filepath.Base(c.plan.prefix))
	if !ok || c.seen[name] {
		return
	}
	c.seen[name] = true
	s, err := readSnapshot(filepath.Join(c.dir, name), parsed)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, errUnfinished) && !closed:
		delete(c.seen, name) // it is being written: tcmalloc opens the file long before it writes
	case errors.Is(err, errUnfinished):
		c.cutShort(filepath.Join(c.dir, name))
	case err != nil:
		c.problem(err)
	default:
		c.add(s, closed)
	}
}

// cutShort is called with a snapshot that ends early: the disk is full, or its process was killed. On a full disk it is
// removed: it would only take the room of the next one.
func (c *collector) cutShort(path string) {
	c.unfinished++
	var st unix.Statfs_t
	full := unix.Statfs(c.dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 2<<20
	if full {
		c.problem(fmt.Errorf("%s: %w", c.plan.Dir, unix.ENOSPC))
	}
	if info, err := os.Stat(path); full || (err == nil && info.Size() == 0) {
		_ = os.Remove(path)
	}
}

func (c *collector) add(s *snapshotFile, fresh bool) {
	p := c.process(cmp.Or(s.name.pid, c.root), s)
	if !p.wanted {
		c.strangers[p.pid] = true
		_ = os.Remove(s.path)
		return
	}
	img := c.image(p, s)
	s.image = img.number
	s.trigger = c.trigger(p, img, s)
	img.highest = max(img.highest, s.inuseBytes)
	img.series = append(img.series, s)
	p.snapshots++
	c.write(p, s, fresh && p.known)
	c.identifyAll(p.pid, s.maps)
	c.copyMaps(p, false)
	c.thin(img)
}

// process finds the process of a snapshot, or meets it for the first time.
func (c *collector) process(pid int, s *snapshotFile) *process {
	if p := c.procs[pid]; p != nil {
		return p
	}
	info, ok := proc.Read(pid)
	p := &process{pid: pid, known: ok && (pid == c.root || strings.TrimSuffix(info.Exe, proc.DeletedSuffix) == s.exe())}
	if p.known {
		p.parent = info.Parent
	}
	p.wanted = c.wanted(p)
	c.procs[pid] = p
	return p
}

// wanted says whether a process is to be recorded: the one that record started, and what runs below it as long as there
// are only wrappers (sh -c, env, timeout, …) between. Of a process that has gone already the parent is not known.
func (c *collector) wanted(p *process) bool {
	if c.plan.FollowChildren || p.pid == c.root {
		return true
	}
	if parent := c.procs[p.parent]; parent != nil && len(parent.images) > 0 {
		return parent.wanted && parent.last().isWrapper()
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.parent))
	if err == nil && p.parent != c.root && p.parent > 1 {
		info, _ := proc.Read(p.parent)
		return program.IsWrapper(exe) && c.wanted(&process{pid: p.parent, parent: info.Parent})
	}
	root := c.procs[c.root]
	return root == nil || len(root.images) == 0 || root.last().isWrapper()
}

func (p *process) last() *image { return p.images[len(p.images)-1] }

func (i *image) isWrapper() bool { return program.IsWrapper(i.exe) }

// image finds the program that wrote a snapshot. An exec maps another program, or the same one elsewhere.
func (c *collector) image(p *process, s *snapshotFile) *image {
	if n := len(p.images); n > 0 && p.images[n-1].base == s.base {
		return p.images[n-1]
	}
	img := &image{number: len(p.images), base: s.base, exe: s.exe()}
	p.images = append(p.images, img)
	record := manifest.Process{PID: p.pid, Image: img.number, Parent: p.parent, Exe: img.exe, Started: s.time.UTC()}
	if info, ok := proc.Read(p.pid); ok && p.known {
		record.Command = info.Command
		if img.number == 0 {
			record.Started = info.Started.UTC()
		}
	}
	c.written(c.out.Process(record))
	return img
}

func (c *collector) trigger(p *process, img *image, s *snapshotFile) string {
	if c.asked[p.pid] {
		delete(c.asked, p.pid)
		return triggerManual
	}
	var before *snapshotFile
	if n := len(img.series); n > 0 {
		before = img.series[n-1]
	}
	return c.plan.engine.trigger(&c.plan.Options, s, before, img.highest)
}

func (c *collector) write(p *process, s *snapshotFile, live bool) {
	r := manifest.Snapshot{File: s.fileName(), Time: s.time.UTC(), PID: p.pid, Image: s.image, Trigger: s.trigger}
	if live {
		r.RSS, r.PSS = proc.Memory(p.pid)
	}
	c.written(c.out.Snapshot(r))
}

func (c *collector) identifyAll(pid int, maps []string) {
	for _, path := range maps {
		if c.mapped[path] {
			continue
		}
		c.mapped[path] = true
		if m, ok := proc.Identify(path, pid); ok {
			c.written(c.out.Mapping(m))
		}
	}
}

func (c *collector) copyMaps(p *process, last bool) {
	if len(p.images) == 0 || len(p.last().series) == 0 {
		return
	}
	series := p.last().series
	files, err := c.jit.update(p.pid, series[len(series)-1].maps, last)
	if err != nil {
		c.problem(err)
	}
	for _, f := range files {
		c.written(c.out.File(f))
	}
}

// drop removes a snapshot and says so: a reader would take its number for one that is missing.
func (c *collector) drop(s *snapshotFile, reason string) {
	c.written(c.out.Drop(manifest.Drop{File: s.fileName(), Reason: reason}))
	_ = os.Remove(s.path)
}

func (c *collector) thin(img *image) {
	for c.plan.Keep > 0 && len(img.series) > c.plan.Keep {
		times := make([]time.Time, len(img.series))
		for i, s := range img.series {
			times[i] = s.time
		}
		i := superfluous(times)
		c.drop(img.series[i], manifest.DropThinned)
		delete(c.seen, img.series[i].fileName())
		img.series = slices.Delete(img.series, i, i+1)
	}
}

// lookAround notes processes that ended, and children that are not recorded.
func (c *collector) lookAround() {
	for _, pid := range c.pids() {
		p := c.procs[pid]
		if p.ended || !p.known {
			continue
		}
		if !proc.Alive(pid) && pid != c.root {
			p.ended = true
			c.copyMaps(p, true)
			c.written(c.out.End(manifest.End{PID: pid, Time: time.Now().UTC()}))
			continue
		}
		if !c.plan.FollowChildren && p.wanted && len(p.images) > 0 && !p.last().isWrapper() {
			for _, child := range proc.Children(pid) {
				c.strangers[child] = true
			}
		}
	}
}

func (c *collector) pids() []int {
	pids := make([]int, 0, len(c.procs))
	for pid := range c.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// problem remembers what went wrong; the recording goes on.
func (c *collector) problem(err error) {
	if err != nil {
		c.problems[err.Error()] = true
	}
}

func (c *collector) written(err error) {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = fmt.Errorf("%s: %w", c.plan.Dir, pe.Err)
	}
	c.problem(err)
}
