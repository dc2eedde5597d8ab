//go:build linux && amd64

package attach

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

// Session is a recording of a process.
type Session struct {
	Started

	pid     int
	control control
	lock    *lock
	ended   chan struct{} // closed when the helper does not record any more
	stop    chan struct{}
	once    sync.Once
}

const (
	// beatEvery is the interval at which the helper is shown that heaplapse lives.
	beatEvery = time.Second
	// lookEvery is the interval at which the end of the recording is noticed.
	lookEvery = 100 * time.Millisecond
	// beginLimit is the time in which the engine must have begun to record, snapshotLimit that in
	// which it must have written a snapshot, and stopLimit that in which it must have stopped.
	beginLimit, snapshotLimit, stopLimit = 20 * time.Second, time.Minute, time.Minute
)

// Start loads the engine into a process and begins to record. It returns a [Refusal] if the process
// was left alone. If ctx is canceled before a thread was borrowed, it returns the error of ctx.
func Start(ctx context.Context, o Options) (*Session, error) {
	p, err := check(o.PID)
	if err != nil {
		return nil, err
	}
	l, err := lockProcess(o.PID)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, o, p)
	if err != nil {
		l.release()
		return nil, err
	}
	s.lock = l
	go s.watch()
	return s, nil
}

func start(ctx context.Context, o Options, p *target.Process) (*Session, error) {
	runtime.LockOSThread() // ptrace belongs to a thread
	defer runtime.UnlockOSThread()
	defer hurry()()
	j := injection{Options: o, process: p}
	if err := j.endOld(); err != nil {
		return nil, err
	}
	if err := j.createHelper(ctx); err != nil {
		return nil, err
	}
	if err := j.waitLoaded(); err != nil {
		return nil, err
	}
	if j.result.Loaded = j.entry == 0; j.result.Loaded {
		if err := p.Refresh(); err != nil {
			return nil, err
		}
	}
	return j.begin()
}

// hurry lets this thread run before others, if that is permitted, and wake up from short sleeps in
// time: while it waits, a thread of the process is stopped. It returns a function that undoes it.
func hurry() (undo func()) {
	const shortest = 1 // ns
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, shortest, 0, 0, 0)
	}
	calm := tracer.RaisePriority()
	return func() {
		calm()
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
	}
}

// endOld prepares a process in which the engine is already. If it still records for a heaplapse that
// has died, it is stopped. A helper of such a heaplapse that has not begun yet will not begin.
func (j *injection) endOld() error {
	if j.process.Engine == nil {
		return nil
	}
	c, err := controlOf(j.process)
	if err != nil {
		return err
	}
	b, err := c.read()
	if err != nil {
		return err
	}
	j.number = b.Newest + 1
	if err := c.memory.PutUint32(c.address+offsetNewest, j.number); err != nil {
		return err
	}
	if err := c.reset(); err != nil {
		return err
	}
	j.entry = j.process.Engine.Symbol(entrySymbol).Start
	return nil
}

// reset waits until no helper is at work, and lets the next one begin. An older one may still show
// itself for a moment.
func (c control) reset() error {
	for {
		b, err := c.read()
		switch {
		case err != nil || b.State == stateNever:
			return err
		case !b.active():
			return c.memory.PutUint32(c.address+offsetState, stateNever)
		}
		if _, err := c.end(); err != nil {
			return err
		}
	}
}

// begin waits until the engine records.
func (j *injection) begin() (*Session, error) {
	if j.process.Engine == nil {
		return nil, ErrExec
	}
	c, err := controlOf(j.process)
	if err != nil {
		return nil, err
	}
	s, err := j.awaitBegin(c)
	if err != nil {
		_, _ = c.send(commandStop) // if it begins later after all
	}
	return s, err
}

func (j *injection) awaitBegin(c control) (*Session, error) {
	j.step("begin")
	decided := func(b *block) bool {
		return b.State == stateRecording || b.State == stateStopped || b.State == stateRefused
	}
	b, err := c.await(beginLimit, "begin to record", func(b *block) bool { return b.Channel != 0 || decided(b) })
	if err == nil && b.Channel != 0 {
		if err = j.adopt(c, b.Channel); err == nil {
			b, err = c.await(beginLimit, "begin to record", decided)
		}
	}
	if err != nil {
		return nil, err
	}
	if b.State == stateRefused {
		return nil, &Refusal{Kind: Unsupported, Reason: b.reason()}
	}
	if err := c.do(commandUnmap, beginLimit, "unmap memory"); err != nil {
		return nil, err
	}
	if b, err = c.read(); err != nil {
		return nil, err
	}
	j.result.Functions, j.result.Foreign, j.result.Python = int(b.Replaced), int(b.Foreign), b.Python == 1
	return &Session{
		Started: j.result, pid: j.PID, control: c, ended: make(chan struct{}), stop: make(chan struct{}),
	}, nil
}

// adopt makes the memory ready that the helper has created. number is its descriptor plus one.
func (j *injection) adopt(c control, number uint32) error {
	j.step("adopt")
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", j.PID, number-1), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := j.Adopt(j.PID, f); err != nil {
		return err
	}
	return c.memory.PutUint32(c.address+offsetPrepared, number)
}

// watch shows the helper that heaplapse lives, until the recording ends.
func (s *Session) watch() {
	look, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	defer close(s.ended)
	for n := uint64(time.Now().UnixNano()); ; n++ {
		select {
		case <-s.stop:
			return
		case <-beat.C:
			if s.control.beat(n) != nil {
				return
			}
		case <-look.C:
			if b, err := s.control.read(); err != nil || !b.records() {
				return
			}
		}
	}
}

// Ended is closed when the recording has ended by itself: because the process has ended, or because
// the program or another heaplapse has ended it.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Snapshot makes the engine write a snapshot and waits for it.
func (s *Session) Snapshot() error {
	return s.control.do(commandSnapshot, snapshotLimit, "write a snapshot")
}

// Stop takes a last snapshot, ends the recording, and puts all functions back. If the process has
// ended or has become another program, it returns ErrEnded or ErrExec.
func (s *Session) Stop() (Summary, error) {
	s.once.Do(func() { close(s.stop) })
	<-s.ended
	defer s.lock.release()
	return s.control.end()
}

// end stops the helper, if it is at work, and returns what it has left.
func (c control) end() (Summary, error) {
	before, err := c.read()
	if err != nil {
		return Summary{}, err
	}
	if before.active() {
		if _, err := c.send(commandStop); err != nil {
			return Summary{}, err
		}
	}
	// Meanwhile the helper may have to wait for the interpreter's lock: it must not feel alone.
	b, err := c.await(stopLimit, "stop recording", func(b *block) bool { return !b.active() })
	return Summary{
		Restored: int(before.Replaced), Left: int(b.Left), PythonLeft: b.Python == 2, Ended: int(b.Ended),
	}, err
}

// Detach ends the recording of a process that another heaplapse has begun.
func Detach(pid int) (Summary, error) {
	p, err := open(pid)
	if err != nil {
		return Summary{}, err
	}
	if p.Engine == nil {
		return Summary{}, ErrNotAttached
	}
	c, err := controlOf(p)
	if err != nil {
		return Summary{}, err
	}
	if b, err := c.read(); err != nil || !b.active() {
		if err == nil {
			err = ErrNotAttached
		}
		return Summary{}, err
	}
	return c.end()
}
