//go:build linux

// Package looks finds out what holds the sampled blocks of recorded processes, while they are recorded and before that
// ends.
package looks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaplapse/heaplapse/internal/holders"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/record/collect"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/units"
)

const (
	// firstLook is the time of the first look after the start of a recording. The next ones follow after twice the time of
	// the one before, so that the newest is from the second half of the recording, however it ends.
	firstLook = time.Second
	// lookPatience limits the time for which the end of a recording waits for what is still read.
	lookPatience = 10 * time.Second
	// leavingPatience is the time for which a process is kept from ending. It is less than that of the engine, 2 s.
	leavingPatience = 1500 * time.Millisecond
	// mostLooked limits the number of processes that are looked at together.
	mostLooked = 4
	// mostOwn is the size of the resident memory that is not of files, up to which processes are looked at unless the user
	// asks for it: much larger ones would be stopped for 50 ms and more (docs/holders.md).
	mostOwn = 1 << 30
	// mostThreads is the number of threads up to which that is done, for the same reason.
	mostThreads = 128
)

// Options are when to look, and how to tell the user why there is no look.
type Options struct {
	// Every is the time between looks; 0: at firstLook, and then at twice the time of the look before. Large processes are
	// looked at only if it is set.
	Every time.Duration
	// Half returns the number of the newest sample of a process when half of its recording had passed, or 0 if that is not
	// known.
	Half func(pid int) uint32
	// Guard removes the copies of processes if heaplapse is killed. It is closed with the last look.
	Guard *snapshot.Guard
	Tell  func(format string, args ...any)
}

// Looks looks at the processes of a recording. A nil Looks does nothing.
type Looks struct {
	Options
	c atomic.Pointer[collect.Collector] // nil before Start

	ctx    context.Context
	cancel context.CancelFunc
	timer  sync.WaitGroup
	work   sync.Mutex // is held while there are copies of processes
	last   sync.WaitGroup
	timed  atomic.Pointer[[]*copied] // the copies of the look that the timer has begun, or nil

	// These are used with work held.
	ends   bool                 // the last looks have begun
	failed map[int]error        // why there is no look at a process
	told   map[int]*answer.Look // the last look at a process that counts, if there is one
	large  map[int]error        // why there was no look after that: the process has become too large
	left   map[int]bool         // processes whose exit handlers, or handlers of signals that end programs, may have begun
}

// New returns what looks at processes after Start.
func New(o Options) *Looks {
	l := &Looks{
		Options: o, failed: map[int]error{}, told: map[int]*answer.Look{}, large: map[int]error{}, left: map[int]bool{},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Start begins to look at the processes of a collector.
func (l *Looks) Start(c *collect.Collector) {
	if l == nil {
		return
	}
	l.c.Store(c)
	l.timer.Go(l.run)
}

// run takes looks until the recording ends.
func (l *Looks) run() {
	began := time.Now()
	for at := l.after(0); ; {
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(at - time.Since(began)):
		}
		started := time.Now()
		if l.work.TryLock() {
			list := l.begin(l.ctx, all)
			l.timed.Store(&list)
			l.finish(l.ctx, list, askAside)
			l.timed.Store(nil)
			l.work.Unlock()
		}
		// It rests for at least as long as the look took.
		at = max(l.after(at), time.Since(began)+time.Since(started))
	}
}

// after returns the time of the next look after one at a time, both since the start; 0 is the start.
func (l *Looks) after(at time.Duration) time.Duration {
	switch {
	case l.Every > 0:
		return at + l.Every
	case at == 0:
		return firstLook
	}
	return 2 * at
}

// copied is a copy of a process.
type copied struct {
	collect.Running
	half  uint32
	least float64 // the least live samples that count, as a share of those of the look before
	*holders.Copy
	dropped atomic.Bool // what is read of it must not be used
}

// drop removes a copy that may be being read.
func (c *copied) drop() {
	if !c.dropped.Swap(true) {
		_ = c.Close()
	}
}

// all stands for every process.
const all = 0

// begin copies the recorded processes that have most in use, or only one. The collector may wait for a disk: nothing is
// copied when the context has ended.
func (l *Looks) begin(ctx context.Context, only int) (list []*copied) {
	for _, r := range l.c.Load().Running() {
		if len(list) == mostLooked || ctx.Err() != nil {
			break
		}
		if only != all && r.PID != only {
			continue
		}
		half := uint32(0)
		if l.Half != nil {
			half = l.Half(r.PID)
		}
		if err := l.refuse(r.PID); err != nil {
			l.tooLarge(r, err)
			continue
		}
		delete(l.large, r.PID)
		l.c.Load().Copied(len(list) + 1)
		c, err := l.copy(r)
		if err != nil {
			l.note(r, err)
			continue
		}
		list = append(list, &copied{Running: r, half: half, least: l.least(r.PID, only), Copy: c})
	}
	return list
}

// least returns the least live samples that count, as a share of those of the look before. A process that leaves may
// have freed most of its memory before, and then frees more. It may also go on, if it handles the signal.
func (l *Looks) least(pid, only int) float64 {
	const most, whole = 0.5, 1
	switch {
	case only == pid:
		return most
	case l.left[pid]:
		return whole
	}
	return 0
}

// copy copies a process. Where the heap is a small part of the resident memory, the answer also tells where the rest
// is.
func (l *Looks) copy(r collect.Running) (*holders.Copy, error) {
	const small = 0.6
	if resident := proc.Resident(r.PID); resident != nil && float64(r.Bytes) < small*float64(*resident) {
		return holders.BeginResident(r.PID, l.Guard)
	}
	return holders.Begin(r.PID, l.Guard)
}

// refuse returns an error for a process that is too large.
func (l *Looks) refuse(pid int) error {
	size := ""
	if own := proc.Anonymous(pid); own > mostOwn {
		size = units.Bytes(own) + " of memory of its own"
	} else if n := proc.Threads(pid); n > mostThreads {
		size = units.Count(n, "thread")
	}
	if l.Every > 0 || size == "" {
		return nil
	}
	return &snapshot.Refusal{
		Reason: fmt.Sprintf("it has %s, and would be stopped for some 50 ms and more", size),
		Remedy: option.HoldersEvery + " looks anyway",
	}
}

// errUnread is the reason why nothing is told if each copy of a process was removed before it had been read.
var errUnread = errors.New("no look at it was complete before it ended, or the recording did")

// finish reads copies, stores what they tell, and removes them.
func (l *Looks) finish(ctx context.Context, list []*copied, ask func(context.Context, *copied) (*answer.Look, error)) {
	for _, c := range list {
		if ctx.Err() != nil {
			_ = c.Close()
			l.note(c.Running, errUnread)
			continue
		}
		stop := context.AfterFunc(ctx, c.drop)
		a, err := ask(ctx, c)
		stop()
		if c.dropped.Load() {
			l.note(c.Running, errUnread)
			continue
		}
		before, told := l.told[c.PID]
		if a != nil && (!told || float64(live(a)) >= c.least*float64(live(before))) {
			if told {
				a.Sites = withFreed(a.Sites, before.Sites, c.least)
			}
			l.c.Load().AddLook(c.Running, a)
			delete(l.failed, c.PID)
			l.told[c.PID] = a
		}
		if err != nil && !told && !errors.Is(err, context.Canceled) && !errors.Is(err, snapshot.ErrEnded) {
			l.failed[c.PID] = err
		}
	}
	l.c.Load().Copied(0)
}

// withFreed returns sites with those of the look before that have lost more of their live samples than the least share
// of that look.
func withFreed(sites, before []answer.Site, least float64) []answer.Site {
	if least == 0 {
		return sites
	}
	key := func(s *answer.Site) string { return fmt.Sprint(s.Stack) }
	at := map[string]int{}
	for i := range sites {
		at[key(&sites[i])] = i
	}
	for i := range before {
		was := &before[i]
		switch now, ok := at[key(was)]; {
		case !ok:
			sites = append(sites, *was)
		case float64(sites[now].Live) < least*float64(was.Live):
			sites[now] = *was
		}
	}
	return sites
}

// live returns the number of live samples.
func live(a *answer.Look) (n int) {
	for _, s := range a.Sites {
		n += s.Live
	}
	return n
}

// ask reads a copy.
func ask(ctx context.Context, c *copied) (*answer.Look, error) {
	return c.Ask(ctx, holders.Question{Sites: true, Image: c.Image, Half: c.half})
}

// askAside is ask at a low priority: the program goes on meanwhile, and should not notice.
func askAside(ctx context.Context, c *copied) (a *answer.Look, err error) {
	const nice = 10 // not the lowest: the copy costs memory while it lives
	done := make(chan struct{})
	go func() {
		defer close(done)
		proc.LowerPriority(nice)
		a, err = ask(ctx, c)
	}()
	<-done
	return a, err
}

// note keeps the reason why a process was not looked at, until it is. That a process could not be copied because it has
// just ended is no reason.
func (l *Looks) note(r collect.Running, err error) {
	_, told := l.told[r.PID]
	if err == nil || told || errors.Is(err, context.Canceled) ||
		!errors.Is(err, errUnread) && !proc.Alive(r.PID) {
		return
	}
	l.failed[r.PID] = err
	l.c.Load().AddLook(r, &answer.Look{
		Schema: answer.Schema, PID: r.PID, Program: proc.ProgramName(r.PID), Refused: err.Error(),
		Time: time.Now().UTC().Truncate(time.Millisecond),
	})
}

// tooLarge keeps the reason why a process is not looked at any more.
func (l *Looks) tooLarge(r collect.Running, err error) {
	l.large[r.PID] = err
	l.note(r, err)
}

// Now looks at the processes, because they are about to end or to be left, and returns when the copies are gone, or the
// context ends. What takes too long is read afterwards. If a look is being taken already, that one counts.
func (l *Looks) Now(ctx context.Context) {
	if l == nil || l.ctx.Err() != nil || ctx.Err() != nil || !l.work.TryLock() {
		return
	}
	l.ends = true
	soon, cancel := context.WithTimeout(ctx, leavingPatience)
	l.last.Go(func() {
		defer cancel()
		defer l.work.Unlock()
		l.finish(l.ctx, l.begin(soon, all), ask) // somebody waits for it
	})
	<-soon.Done()
}

// Leaving looks at a process whose exit handlers run next, and returns when there is no copy of it: one that is left
// behind would be a child of whoever reaps orphans, such as the first process of a sandbox, which may take its status
// for that of the program. What the timer's look has copied of the process is dropped.
func (l *Looks) Leaving(pid int) {
	c := l.c.Load()
	if c == nil {
		return
	}
	c.Leaving(pid)
	ctx, cancel := context.WithTimeout(l.ctx, leavingPatience)
	defer cancel()
	if !l.lock(ctx, pid) { // other copies are being read
		return
	}
	defer l.work.Unlock()
	l.left[pid] = true
	if !l.ends {
		l.finish(ctx, l.begin(ctx, pid), ask)
	}
}

// lock takes work unless the context ends before, and drops what the timer's look has copied of a process.
func (l *Looks) lock(ctx context.Context, pid int) bool {
	const pause = time.Millisecond
	for ctx.Err() == nil {
		if l.work.TryLock() {
			return true
		}
		if list := l.timed.Load(); list != nil {
			for _, c := range *list {
				if c.PID == pid {
					c.drop()
				}
			}
		}
		time.Sleep(pause)
	}
	return false
}

// End waits for what is still read, but not for long, and tells why there are no looks at processes, or no later ones.
func (l *Looks) End() {
	if l == nil {
		return
	}
	late := time.AfterFunc(lookPatience, l.cancel)
	l.last.Wait()
	l.work.Lock() // a look that the timer began is finished, too
	l.cancel()
	l.work.Unlock()
	late.Stop()
	l.timer.Wait()
	l.Guard.Close()
	for _, pid := range slices.Sorted(maps.Keys(l.failed)) {
		l.Tell("what holds the memory of process %d is not told: %v", pid, l.failed[pid])
	}
	for _, pid := range slices.Sorted(maps.Keys(l.large)) {
		if last, told := l.told[pid]; told {
			l.Tell("what holds the memory of process %d is told as it was at %s: since then, %v",
				pid, last.Time.Local().Format(time.TimeOnly), l.large[pid])
		}
	}
}
