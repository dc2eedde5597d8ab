//go:build linux

package collect

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/compress"
	"github.com/heaplapse/heaplapse/internal/record/held"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// Options defines what is collected. All fields except Prefix and Root may have their zero value.
type Options struct {
	// Prefix is the absolute path with which the names of snapshots begin.
	Prefix string
	// Shown is the directory of the snapshots, as messages name it.
	Shown string
	// Root is the process that is recorded.
	Root int
	// Scope is which of its descendants are recorded, too. ChildrenHint tells the user how to
	// record more.
	Scope        Scope
	ChildrenHint string
	// Library is the path of a library that each process maps that can be recorded. "" if it is not
	// known.
	Library string

	// Keep is the maximum number of snapshots of each process image. 0 means no limit.
	Keep int
	// KeepBytes is the maximum size of all snapshots in bytes, as they are stored. 0 means no
	// limit.
	KeepBytes int64
	// NoCompress leaves the snapshots as the engine wrote them.
	NoCompress bool
	// HoldFiles holds the files that the recorded processes have mapped: see [Result].
	HoldFiles bool

	// Trigger returns the name of what caused a snapshot about which the engine reports nothing
	// else. before is the previous snapshot of the process image, or nil. highest is the maximum of
	// the bytes in use before s. Trigger may be nil: then the cause is unknown.
	Trigger func(s, before *written.Snapshot, highest int64) string
	// CloseFiles, if it is not nil, ends the writing of snapshots. It is called when no process of
	// the recording is expected to write another one.
	CloseFiles func() error
	// Unfinished, if it is not nil, reports afterwards whether a process has ended while it wrote a snapshot.
	Unfinished func() bool
}

// Collector watches the directory while the program runs. It adds each complete snapshot to the
// manifest, removes snapshots of processes that are not recorded, and removes snapshots above the
// limits of Options. All its state belongs to the goroutine of Run. Other goroutines use do.
type Collector struct {
	o        Options
	dir      string
	out      *manifest.Writer
	jit      jitCopies
	compress compressor
	// events are those of the built-in engine.
	events *written.Events

	procs     map[int]*process
	seen      map[string]bool // names of snapshots
	mapped    map[string]bool // paths that were identified
	requested map[int]bool    // processes that were sent a signal to take a snapshot

	resident   *int64          // the last known resident set size of the program
	bytes      int64           // size of the snapshots that are kept
	truncated  int             // number of truncated snapshots
	unrecorded map[int]string  // names of the programs of child processes that are not recorded
	contained  map[int]string  // those of child processes in a container
	workers    map[int]int     // workers that are not recorded, with the number of their parent
	idle       map[int]bool    // workers that have written no snapshot
	programs   map[string]bool // files of the main programs
	recycled   []*process      // workers that have ended, of which snapshots are kept
	removed    map[int]int64   // number of workers of which no snapshots are kept, by their parent
	short      map[shortWorker]int64
	strangers  strangers
	filtered   map[string]bool // programs under a seccomp filter that this process does not have
	problems   map[string]bool // messages; each is reported once
	files      held.Files      // what the recorded processes have mapped
	looks      []look
	copies     int       // of recorded processes
	survivors  []int     // recorded processes that run when the program has ended
	leaving    time.Time // when the program was about to run its exit handlers, the last time; zero before
	// engineNotes tell the user what the engine could not do.
	engineNotes []string

	requests chan func()
	stop     chan struct{}
	stopped  chan struct{}
}

// snapshot is a snapshot of the recording.
type snapshot struct {
	written.Snapshot
	event   *written.Event // nil if the engine reports none
	trigger string
	image   int
	// compressed is set if only a compressed copy is left. dropped is set if the snapshot was
	// removed.
	compressed, dropped bool
}

// New returns a collector that adds what it collects to a manifest.
func New(o Options, out *manifest.Writer) *Collector {
	dir := filepath.Dir(o.Prefix)
	return &Collector{
		o: o, dir: dir, out: out, jit: jitCopies{dir: dir}, events: written.NewEvents(o.Prefix),
		procs: map[int]*process{}, seen: map[string]bool{}, mapped: map[string]bool{}, requested: map[int]bool{},
		unrecorded: map[int]string{}, contained: map[int]string{}, workers: map[int]int{}, idle: map[int]bool{},
		removed: map[int]int64{}, short: map[shortWorker]int64{}, programs: map[string]bool{},
		filtered: map[string]bool{}, strangers: strangers{started: time.Now()}, problems: map[string]bool{},
		requests: make(chan func()), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// sweepEvery is the interval at which the collector looks for snapshots without a file event and
// for processes that ended.
const sweepEvery = time.Second

// Run collects snapshots until Stop is called. w may be nil.
func (c *Collector) Run(w *Watcher) {
	defer close(c.stopped)
	if !c.o.NoCompress {
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
		case f := <-c.requests:
			f()
		case <-c.stop:
			return
		}
	}
}

// do calls a function in the goroutine of Run and waits for it, unless Run ends.
func (c *Collector) do(f func()) {
	done := make(chan struct{})
	select {
	case c.requests <- func() { f(); close(done) }:
		<-done
	case <-c.stop:
	}
}

// Stop ends Run and waits for that. Afterwards call Finish or Leave.
func (c *Collector) Stop() {
	close(c.stop)
	<-c.stopped
}

// sweep adds the snapshots that have not changed for the given time.
func (c *Collector) sweep(settled time.Duration) {
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
func (c *Collector) take(name string, closed bool) {
	parsed, ok := written.ParseName(name, filepath.Base(c.o.Prefix))
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

// takeAbandoned handles incomplete snapshots of processes that were killed while they were writing.
func (c *Collector) takeAbandoned() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		n, ok := written.ParseName(e.Name(), filepath.Base(c.o.Prefix))
		if ok && !c.seen[e.Name()] && !proc.Alive(cmp.Or(n.PID, c.o.Root)) {
			c.take(e.Name(), true)
		}
	}
}

// handleTruncated counts a truncated snapshot: the disk is full, the process was killed, or the
// file reached a limit. On a full disk it removes the file, to free space for the next one. It also
// removes an empty file.
func (c *Collector) handleTruncated(path string) {
	c.truncated++
	var st unix.Statfs_t
	full := unix.Statfs(c.dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 2<<20
	if full {
		c.problem(fmt.Errorf("%s: %w", c.o.Shown, unix.ENOSPC))
	}
	if info, err := os.Stat(path); full || (err == nil && info.Size() == 0) {
		_ = os.Remove(path)
	}
}

func (c *Collector) add(s *snapshot, fresh bool) {
	p := c.process(cmp.Or(s.Name.PID, c.o.Root), s)
	if !p.recorded {
		c.unrecorded[p.pid] = filepath.Base(s.Exe())
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
