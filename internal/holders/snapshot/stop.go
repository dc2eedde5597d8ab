//go:build linux && amd64

package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

// Limits of time. Until all threads can be stopped none is; then each may take stopPatience, and
// all together stopLimit, or the process goes on without a snapshot.
const (
	waitPatience = time.Second
	stopPatience = 20 * time.Millisecond
	stopLimit    = 2 * time.Second
)

// threadIDs returns the numbers of the threads of a process.
func threadIDs(pid int) (list []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, id)
		}
	}
	return list, err
}

// threadState returns the state of a thread like 'S', or 0 if it has ended.
func threadState(pid, id int) byte {
	f := target.StatFields(fmt.Sprintf("/proc/%d/task/%d/stat", pid, id))
	if len(f) == 0 || f[0] == "Z" || f[0] == "X" {
		return 0
	}
	return f[0][0]
}

// awaitStoppable waits until no signal, and therefore no tracer, is kept waiting by what a thread does.
// The state D is that of a thread that waits for a device, for a page, or for a child of vfork(2).
func awaitStoppable(pid, id int, patience time.Duration) error {
	for end := time.Now().Add(patience); threadState(pid, id) == 'D'; nap() {
		if time.Now().After(end) {
			return refuse(TryAgain, "thread %d of process %d cannot be stopped: it waits for a device, "+
				"or for a program that it starts", id, pid)
		}
	}
	return nil
}

// awaitAll waits until every thread can be stopped. None is stopped meanwhile.
func awaitAll(pid int) error {
	list, err := threadIDs(pid)
	if err != nil {
		return err
	}
	for _, id := range list {
		if err := awaitStoppable(pid, id, waitPatience); err != nil {
			return err
		}
	}
	return nil
}

// readSleeps looks at threads before any of them is stopped.
func (l *look) readSleeps(threads ...target.Thread) {
	l.asleep, l.sleeps = nil, tracer.ReadSleeps(l.pid, threads, l.process.Libc)
}

// stopSome stops all threads that may be stopped. If none may, it waits for one.
func (l *look) stopSome() (began time.Time, err error) {
	for end := time.Now().Add(waitPatience); ; nap() {
		l.readSleeps(target.Threads(l.pid)...)
		began = time.Now()
		if err = l.stopAll(); err != nil || len(l.threads) > 0 || began.After(end) {
			return began, err
		}
	}
}

// stopAll stops all threads. Those that run may create others, so it looks until there is no new one.
func (l *look) stopAll() error {
	seen := map[int]bool{}
	for began := time.Now(); ; {
		list, err := threadIDs(l.pid)
		if err != nil {
			return err
		}
		fresh := false
		for _, id := range list {
			if seen[id] {
				continue
			}
			seen[id], fresh = true, true
			if err := l.stop(id); err != nil {
				return err
			}
			if time.Since(began) > stopLimit {
				return refuse("", "the %d threads of process %d take too long to stop", len(list), l.pid)
			}
		}
		if !fresh {
			return nil
		}
	}
}

// stop stops a thread, unless it has ended, or waits in a call that must not be interrupted.
func (l *look) stop(id int) error {
	if err := awaitStoppable(l.pid, id, stopPatience); err != nil {
		return err
	}
	t, err := tracer.Stop(l.process.Memory, id, tracer.Options{
		Step: func(name string) { l.step(id, name) }, Sleeps: l.sleeps,
	})
	var waiting *tracer.Waiting
	switch {
	case errors.As(err, &waiting):
		l.asleep = append(l.asleep, waiting.Thread)
		return nil
	case err == nil:
		l.threads = append(l.threads, t)
		return nil
	case threadState(l.pid, id) == 0, errors.Is(err, tracer.ErrEnded), errors.Is(err, unix.ESRCH):
		return nil
	case errors.Is(err, tracer.ErrJobControl):
		return refuse(fmt.Sprintf("let it continue first (kill -CONT %d)", l.pid), "process %d is stopped", l.pid)
	case errors.Is(err, unix.EPERM):
		return refuse("", "thread %d of process %d may not be traced: another process traces it", id, l.pid)
	}
	return fmt.Errorf("stop thread %d: %w", id, err)
}

// release lets all threads continue.
func (l *look) release() error {
	var errs []error
	for _, t := range l.threads {
		if _, err := t.Release(); err != nil && threadState(l.pid, t.ID) != 0 {
			errs = append(errs, fmt.Errorf("release thread %d: %w", t.ID, err))
		}
	}
	l.threads = nil
	return errors.Join(errs...)
}

// readThreads reads the registers of the stopped threads.
func (l *look) readThreads() (list []Thread, err error) {
	for _, t := range l.threads {
		state, err := extendedState(t.ID)
		if err != nil {
			return nil, err
		}
		r := &t.Regs
		words := []uint64{r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14,
			r.R15, r.Gs_base}
		const vectors = 32 // offset of the first register; XMM registers follow those of the x87
		for b := state[vectors:]; len(b) >= 8; b = b[8:] {
			if w := binary.LittleEndian.Uint64(b); w != 0 {
				words = append(words, w)
			}
		}
		list = append(list, Thread{ID: t.ID, SP: r.Rsp, TLS: r.Fs_base, Registers: words})
		l.registers = append(l.registers, t.Registers())
	}
	return append(list, l.readAsleep()...), nil
}
