//go:build linux

package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/compress"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// collector watches the directory while the program runs. It adds each complete snapshot to the
// manifest, removes snapshots of processes that are not recorded, and removes snapshots above the
// limits of --keep and --keep-bytes. All its state belongs to the goroutine of run. Other goroutines use do.
type collector struct {
	plan     *Plan
	dir      string
	root     int // the process that record started
	out      *manifest.Writer
	jit      jitCopies
	compress compressor
	// events are those of the built-in engine.
	events *written.Events

	procs     map[int]*process
	seen      map[string]bool // names of snapshots
	mapped    map[string]bool // paths that were identified
	requested map[int]bool    // processes that were sent a signal to take a snapshot

	bytes      int64           // size of the snapshots that are kept
	truncated  int             // number of truncated snapshots
	unrecorded map[int]bool    // child processes that are not recorded
	problems   map[string]bool // messages; each is reported once
	// cannotWrite are the messages about users whose processes cannot write to the directory.
	cannotWrite map[int]string
	// granted are the users that may write to the directory since then.
	granted []int
	// engineNotes tell the user what the engine could not do.
	engineNotes []string

	requests chan func()
	stopped  chan struct{}
}

// process is a process that writes snapshots.
type process struct {
	pid, parent int
	user        int  // its effective user, or that of this process if it is not known
	known       bool // /proc/PID describes this process, not another one with the same number
	recorded    bool
	ended       bool
	images      []*image
	newest      *snapshot // the last one that it wrote
	snapshots   int       // number of snapshots that it wrote, including removed ones
}

// image is a process image: the program that a process runs between two calls of exec.
type image struct {
	number  int
	base    string // address and path of its first mapping
	exe     string
	series  []*snapshot // the snapshots that are kept
	highest int64       // maximum of the bytes in use, over all snapshots
}

// snapshot is a snapshot of the recording.
type snapshot struct {
	written.Snapshot
	event   *written.Event // nil if the engine reports none
	trigger string
	image   int
	// compressed is set if only a compressed copy is left. dropped is set if the snapshot was removed.
	compressed, dropped bool
}

func newCollector(p *Plan, out *manifest.Writer) *collector {
	dir := filepath.Dir(p.prefix)
	return &collector{
		plan: p, dir: dir, out: out, jit: jitCopies{dir: dir}, events: written.NewEvents(p.prefix),
		procs: map[int]*process{}, seen: map[string]bool{}, mapped: map[string]bool{}, requested: map[int]bool{},
		unrecorded: map[int]bool{}, problems: map[string]bool{}, cannotWrite: map[int]string{},
		requests: make(chan func()), stopped: make(chan struct{}),
	}
}

// sweepEvery is the interval at which the collector looks for snapshots without a file event and
// for processes that ended.
const sweepEvery = time.Second

// run collects snapshots until stop is called. w may be nil.
func (c *collector) run(w *watcher) {
	defer close(c.stopped)
	if !c.plan.NoCompress {
		c.compress.worker = compress.Start()
		defer c.compress.stop()
	}
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
			c.checkProcesses()
		case r := <-c.compress.results():
			c.handleCompressed(r)
		case f, ok := <-c.requests:
			if !ok {
				return
			}
			f()
		}
	}
}

// do calls a function in the goroutine of run and waits for it.
func (c *collector) do(f func()) {
	done := make(chan struct{})
	c.requests <- func() { f(); close(done) }
	<-done
}

// stop ends run. After it returns, the caller may use the collector's state.
func (c *collector) stop() {
	close(c.requests)
	<-c.stopped
}

// sweep adds the snapshots that have not changed for the given time.
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

// take adds a snapshot if it is complete. closed reports that the file was closed just now: it will
// not grow any more, and the state of its process is that at the time of the snapshot.
func (c *collector) take(name string, closed bool) {
	parsed, ok := written.ParseName(name, filepath.Base(c.plan.prefix))
	if !ok || c.seen[name] {
		return
	}
	c.seen[name] = true
	s, err := written.ReadSnapshot(filepath.Join(c.dir, name), parsed)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, written.ErrIncomplete) && !closed:
		delete(c.seen, name) // try again later: tcmalloc opens the file long before it writes
	case errors.Is(err, written.ErrIncomplete):
		c.handleTruncated(filepath.Join(c.dir, name))
	case err != nil:
		c.problem(err)
	default:
		c.add(&snapshot{Snapshot: *s}, closed)
	}
}

// handleTruncated counts a truncated snapshot: the disk is full, the process was killed, or the
// file reached a limit. On a full disk it removes the file, to free space for the next one. It also
// removes an empty file.
func (c *collector) handleTruncated(path string) {
	c.truncated++
	var st unix.Statfs_t
	full := unix.Statfs(c.dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 2<<20
	if full {
		c.problem(fmt.Errorf("%s: %w", c.plan.Dir, unix.ENOSPC))
	}
	if info, err := os.Stat(path); full || (err == nil && info.Size() == 0) {
		_ = os.Remove(path)
	}
}

func (c *collector) add(s *snapshot, fresh bool) {
	p := c.process(cmp.Or(s.Name.PID, c.root), s)
	if !p.recorded {
		c.unrecorded[p.pid] = true
		_ = os.Remove(s.Path)
		return
	}
	if s.event = c.events.Of(&s.Snapshot); s.event != nil {
		s.Time = time.Unix(0, s.event.Time)
	}
	img := c.image(p, s)
	s.image = img.number
	s.trigger = c.trigger(p, img, s)
	img.highest = max(img.highest, s.InuseBytes)
	img.series = append(img.series, s)
	c.bytes += s.Size
	if p.newest != nil {
		c.compress.add(p.newest)
	}
	p.newest = s
	p.snapshots++
	c.write(p, s, fresh && p.known)
	c.identifyAll(p.pid, s.Maps)
	c.copyMaps(p, false)
	c.thin(img)
}

// process returns the process of a snapshot. It adds the process when its first snapshot appears.
func (c *collector) process(pid int, s *snapshot) *process {
	if p := c.procs[pid]; p != nil {
		return p
	}
	info, ok := proc.Read(pid)
	p := &process{pid: pid, user: os.Geteuid()}
	p.known = ok && (pid == c.root || strings.TrimSuffix(info.Exe, proc.DeletedSuffix) == s.Exe())
	if p.known {
		p.parent = info.Parent
	}
	p.recorded = c.isRecorded(p)
	c.procs[pid] = p
	return p
}

// isRecorded reports whether a process is recorded. These are the process that record started and,
// without --follow-children, those descendants whose ancestors up to it are all wrappers (sh -c,
// env, timeout, …). If the process has ended, its parent is unknown; isRecorded then decides by the
// program of the root process.
func (c *collector) isRecorded(p *process) bool {
	if c.plan.FollowChildren || p.pid == c.root {
		return true
	}
	if parent := c.procs[p.parent]; parent != nil && len(parent.images) > 0 {
		return parent.recorded && parent.last().isWrapper()
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.parent))
	if err == nil && p.parent > 1 {
		info, _ := proc.Read(p.parent)
		return program.IsWrapper(exe) && c.isRecorded(&process{pid: p.parent, parent: info.Parent})
	}
	root := c.procs[c.root]
	return root == nil || len(root.images) == 0 || root.last().isWrapper()
}

// last returns the current process image.
func (p *process) last() *image { return p.images[len(p.images)-1] }

func (i *image) isWrapper() bool { return program.IsWrapper(i.exe) }

// image returns the process image that wrote a snapshot. If the engine does not tell, a new image
// begins when the program or its address changes, which an exec does.
func (c *collector) image(p *process, s *snapshot) *image {
	number := len(p.images)
	if s.event != nil {
		number = s.event.Image
	}
	if n := len(p.images); n > 0 && (p.images[n-1].number == number || s.event == nil && p.images[n-1].base == s.Base) {
		return p.images[n-1]
	}
	img := &image{number: number, base: s.Base, exe: s.Exe()}
	p.images = append(p.images, img)
	record := manifest.Process{PID: p.pid, Image: img.number, Parent: p.parent, Exe: img.exe, Started: s.Time.UTC()}
	if info, ok := proc.Read(p.pid); ok && p.known {
		record.Command, record.Link = info.Command, proc.Link(info, proc.SearchPath())
		if len(p.images) == 1 {
			record.Started = info.Started.UTC()
		}
	}
	c.checkWrite(c.out.Process(record))
	return img
}

// trigger returns the name of what caused a snapshot.
func (c *collector) trigger(p *process, img *image, s *snapshot) string {
	if s.event != nil {
		return s.event.TriggerName()
	}
	if c.requested[p.pid] {
		delete(c.requested, p.pid)
		return written.TriggerManual
	}
	var before *snapshot
	if n := len(img.series); n > 0 {
		before = img.series[n-1]
	}
	return c.plan.engine.trigger(&c.plan.Options, s, before, img.highest)
}

// write adds a snapshot to the manifest. live reports that the process still has the memory of the
// snapshot, so that its RSS, PSS and processor time are recorded.
func (c *collector) write(p *process, s *snapshot, live bool) {
	r := manifest.Snapshot{
		File: s.FileName(), Time: s.Time.UTC(), PID: p.pid, Image: s.image, Trigger: s.trigger,
	}
	if live {
		r.RSS, r.PSS = proc.Memory(p.pid)
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

// identifyAll adds the mapped files that are new to the manifest.
func (c *collector) identifyAll(pid int, maps []string) {
	for _, path := range maps {
		if c.mapped[path] {
			continue
		}
		c.mapped[path] = true
		if m, ok := proc.Identify(path, pid); ok {
			c.checkWrite(c.out.Mapping(m))
		}
	}
}

// copyMaps copies the maps of generated code of a process. last is for the final copy.
func (c *collector) copyMaps(p *process, last bool) {
	if len(p.images) == 0 || len(p.last().series) == 0 {
		return
	}
	series := p.last().series
	if user, ok := proc.User(p.pid); ok && p.known {
		p.user = user // a wrapper may have changed it
	}
	files, errs := c.jit.update(p.pid, p.user, series[len(series)-1].Maps, last)
	for _, err := range errs {
		c.problem(err)
	}
	for _, f := range files {
		c.checkWrite(c.out.File(f))
	}
}

// drop removes a snapshot and records that in the manifest. Otherwise a reader would report its
// number as missing.
func (c *collector) drop(s *snapshot, reason string) {
	c.checkWrite(c.out.Drop(manifest.Drop{File: s.FileName(), Reason: reason}))
	c.bytes -= s.Size
	s.dropped = true
	_ = os.Remove(s.stored())
}

// leastKept is the number of snapshots of each process image that --keep-bytes leaves: with fewer,
// growth may take a filling cache for a leak.
const leastKept = 12

// thin removes snapshots above the limits: of this process image above that of --keep, and of those that
// take most space above that of --keep-bytes.
func (c *collector) thin(img *image) {
	for c.plan.Keep > 0 && len(img.series) > c.plan.Keep {
		c.thinOut(img)
	}
	for c.plan.KeepBytes > 0 && c.bytes > c.plan.KeepBytes {
		largest := c.largestImage()
		if largest == nil {
			return
		}
		c.thinOut(largest)
	}
}

// largestImage returns the process image whose snapshots take most space, among those with more than
// leastKept; nil if there is none.
func (c *collector) largestImage() (largest *image) {
	var most int64
	for _, pid := range c.pids() {
		for _, img := range c.procs[pid].images {
			var bytes int64
			for _, s := range img.series {
				bytes += s.Size
			}
			if len(img.series) > leastKept && bytes > most {
				largest, most = img, bytes
			}
		}
	}
	return largest
}

// thinOut removes the most redundant snapshot of a process image.
func (c *collector) thinOut(img *image) {
	times := make([]time.Time, len(img.series))
	for i, s := range img.series {
		times[i] = s.Time
	}
	i := outdir.MostRedundant(times)
	c.drop(img.series[i], manifest.DropThinned)
	delete(c.seen, img.series[i].FileName())
	img.series = slices.Delete(img.series, i, i+1)
}

// checkProcesses finds processes that ended and child processes that are not recorded.
func (c *collector) checkProcesses() {
	for _, pid := range c.pids() {
		p := c.procs[pid]
		if p.ended || !p.known {
			continue
		}
		if !proc.Alive(pid) && pid != c.root {
			p.ended = true
			c.copyMaps(p, true)
			c.checkWrite(c.out.End(manifest.End{PID: pid, Time: time.Now().UTC()}))
			continue
		}
		c.noteChildren(pid)
	}
	c.noteChildren(c.root) // it may have written no snapshot yet
	c.checkAccess()
}

// noteChildren counts the children of a process that are not recorded.
func (c *collector) noteChildren(pid int) {
	if p := c.procs[pid]; c.plan.FollowChildren || p != nil && !p.recorded {
		return
	}
	if info, ok := proc.Read(pid); !ok || info.Exe == "" || program.IsWrapper(info.Exe) {
		return
	}
	for _, child := range proc.Children(pid) {
		c.unrecorded[child] = true
	}
}

// checkAccess finds processes that are recorded, but cannot write to the directory: they run as another
// user by now, as the workers of a service do. It gives the user access, or tells about the processes of
// the user once, and at once, because a service may run for days.
func (c *collector) checkAccess() {
	for _, pid := range append([]int{c.root}, proc.Descendants(c.root)...) {
		if proc.CanWrite(pid, c.dir) {
			continue
		}
		info, known := proc.Read(pid)
		id, ok := proc.User(pid)
		if !known || !ok || c.cannotWrite[id] != "" || !c.isRecorded(&process{pid: pid, parent: info.Parent}) {
			continue
		}
		name, program := userName(id), filepath.Base(info.Exe)
		if proc.CanReach(pid, filepath.Dir(c.dir)) && c.grant(id, name, program) {
			continue
		}
		c.cannotWrite[id] = fmt.Sprintf("%s runs as %s, which cannot write to %s: its snapshots are missing; "+
			"record into a directory of that user (install -d -o %s DIR)", program, name, c.plan.Dir, name)
		c.plan.note("%s", c.cannotWrite[id])
	}
}

// grant lets a user write to the directory, if this recording has made it, and reports whether it may.
func (c *collector) grant(id int, name, program string) bool {
	if slices.Contains(c.granted, id) {
		return true
	}
	if c.plan.created == nil || proc.Grant(c.dir, c.plan.created, append(slices.Clone(c.granted), id)) != nil {
		return false
	}
	c.granted = append(c.granted, id)
	c.plan.note("%s runs as %s, which may write to %s from now on", program, name, c.plan.Dir)
	return true
}

// userName returns the name of a user, or its number if it has none.
func userName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return u.Username
	}
	return strconv.Itoa(id)
}

// pids returns the numbers of all processes that wrote snapshots, in ascending order.
func (c *collector) pids() []int {
	pids := make([]int, 0, len(c.procs))
	for pid := range c.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// problem stores an error, which may be nil, for the end of the recording.
func (c *collector) problem(err error) {
	if err != nil {
		c.problems[err.Error()] = true
	}
}

// checkWrite stores an error of the manifest, which may be nil. Its message names the directory.
func (c *collector) checkWrite(err error) {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = fmt.Errorf("%s: %w", c.plan.Dir, pe.Err)
	}
	c.problem(err)
}
