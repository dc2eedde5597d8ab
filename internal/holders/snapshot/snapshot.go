//go:build linux && amd64

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
)

// Snapshot is the memory of a process at one moment. The caller must call Close.
type Snapshot struct {
	// PID is the number of the process, and Memory the memory of its copy.
	PID    int
	Memory target.Memory
	// Mappings are those of the copy. The kernel divides some of them at the fork.
	Mappings []target.Mapping
	// Missing lists memory of the process that the copy lacks: MADV_DONTFORK in madvise(2).
	Missing []target.Range
	Threads []Thread
	// Stopped is the time for which the process was stopped.
	Stopped time.Duration

	look   *look
	worker *worker
	once   sync.Once
	err    error // of Close
	shared bool  // the copy shares the table of open files
	reason atomic.Pointer[error]
}

// watchEvery is the interval at which the free memory is measured while there is a copy.
const watchEvery = 20 * time.Millisecond

// Take takes a snapshot of a process. It returns a [Refusal] if that is impossible or may do harm.
func Take(pid int, o Options) (*Snapshot, error) {
	if err := check(pid); err != nil {
		return nil, err
	}
	l := &look{Options: o, pid: pid}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	if err := awaitAll(pid); err != nil {
		return nil, err
	}
	s := &Snapshot{PID: pid, look: l}
	reserve := readStatus(os.DirFS("/"), pid).reserve()
	o.Guard.tell(pid)
	s.worker = startWorker(watchEvery, func() { s.watch(room(os.DirFS("/"), pid), reserve) })
	err := s.worker.do(s.take)
	if err == nil {
		err = s.read()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// take stops the process, forks it, and lets it continue.
func (s *Snapshot) take() (err error) {
	l := s.look
	defer tracer.RaisePriority()()
	defer tracer.HoldCollector()()
	var began time.Time
	defer func() { err = errors.Join(err, l.release()); s.Stopped = time.Since(began) }()
	if began, err = l.stopSome(); err != nil {
		return err
	}
	if s.Threads, err = l.readThreads(); err != nil {
		return err
	}
	if l.process.Mappings, err = target.Mappings(s.PID); err != nil {
		return err
	}
	if err := l.borrow(l.fork); err != nil {
		return err
	}
	closed, err := l.closeFiles()
	s.shared = !closed
	return err
}

// read reads what can be read of the copy.
func (s *Snapshot) read() (err error) {
	s.Memory.PID = s.look.child
	if s.Mappings, err = target.Mappings(s.look.child); err != nil {
		return err
	}
	if s.Memory.Anonymous, err = target.OpenAnonymous(s.look.child, s.Mappings); err != nil {
		return err
	}
	s.Missing = missing(s.look.process.Mappings, s.Mappings)
	s.findDescriptors()
	for i, t := range s.Threads {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", s.PID, t.ID))
		s.Threads[i].Name = strings.TrimSuffix(string(name), "\n")
	}
	return nil
}

// missing returns the ranges of readable private memory that are mapped in the process but not in the copy.
func missing(process, child []target.Mapping) (list []target.Range) {
	for _, m := range process {
		if !strings.HasPrefix(m.Permissions, "r") || !strings.HasSuffix(m.Permissions, "p") ||
			strings.HasPrefix(m.Path, "[v") { // [vvar], [vsyscall]
			continue
		}
		at := m.Start
		i, _ := slices.BinarySearchFunc(child, at, func(c target.Mapping, a uint64) int { return cmp.Compare(c.End, a+1) })
		for ; i < len(child) && child[i].Start < m.End; i++ {
			if child[i].Start > at {
				list = append(list, target.Range{Start: at, End: child[i].Start})
			}
			at = child[i].End
		}
		if at < m.End {
			list = append(list, target.Range{Start: at, End: m.End})
		}
	}
	return list
}

// watch ends the copy if too little memory is left: what the process writes to needs memory of its own. It
// also ends the copy if that would keep the files of a process open that has ended.
func (s *Snapshot) watch(free, reserve int64) {
	switch {
	case s.look.child == 0 || s.look.ended:
	case s.look.wasKilled():
		s.reason.Store(&ErrKilled)
	case free < reserve/2:
		s.endEarly(ErrMemory)
	case s.shared && threadState(s.PID, s.PID) == 0:
		s.endEarly(ErrEnded)
	}
}

func (s *Snapshot) endEarly(reason error) {
	if s.look.kill() == nil {
		s.reason.Store(&reason)
	}
}

// Stack returns the frames of a thread, innermost first, as far as they can be unwound. modules are those of
// the process.
func (s *Snapshot) Stack(thread int, modules []*target.Module) []unwind.Frame {
	u := unwind.Unwinder{Memory: s.Memory, Modules: modules}
	regs := s.look.registers[thread]
	frames, complete, _ := u.Stack(regs)
	if !complete && len(frames) == 1 && frames[0].Module != nil {
		frames = append(frames, callers(&u, regs, frames[0].Module)...)
	}
	return frames
}

// Err returns why reading the memory has failed, if the copy was ended, or nil.
func (s *Snapshot) Err() error {
	if reason := s.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Close removes the copy. It returns [ErrZombie] if that is not complete.
func (s *Snapshot) Close() error {
	s.once.Do(func() {
		s.err = s.worker.do(func() error { return errors.Join(s.look.kill(), s.look.reap()) })
		s.worker.end()
		s.look.Guard.tell(-s.PID)
		if s.Memory.Anonymous != nil {
			s.err = errors.Join(s.err, s.Memory.Anonymous.Close())
		}
	})
	return s.err
}
