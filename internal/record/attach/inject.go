//go:build linux && amd64

package attach

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/engine"
	"github.com/heaplapse/heaplapse/internal/record/attach/moment"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

// injection is the work of Start in one process.
type injection struct {
	Options
	process *target.Process
	returns tracer.Returns
	judge   *moment.Judge
	context []byte // what is written to the scratch memory: see newContext
	scratch uint64 // address of the scratch memory; 0 before it is mapped
	entry   uint64 // the engine's function, if the engine is there already
	number  uint32 // of the helper
	result  Started
}

// createHelper creates the helper in the process.
func (j *injection) createHelper(ctx context.Context) error {
	const retries = 5
	defer tracer.HoldCollector()()
	var err error
	if j.returns, err = tracer.FindReturns(j.process.Libc, j.process.Memory); err != nil {
		return err
	}
	if j.context, err = newContext(j.process, j.entry, j.number, j.Settings); err != nil {
		return err
	}
	for range retries {
		var t *tracer.Thread
		if t, err = j.stopSafely(ctx); err != nil {
			return err
		}
		err = j.borrow(t)
		pause, released := t.Release()
		j.result.Pause = max(j.result.Pause, pause)
		if err = errors.Join(err, released); !errors.Is(err, tracer.ErrLocked) {
			return err
		}
	}
	return err
}

// stopSafely returns a thread that is stopped at a safe moment.
func (j *injection) stopSafely(ctx context.Context) (*tracer.Thread, error) {
	j.judge = moment.NewJudge(j.process, stub())
	var last error
	for start, round := time.Now(), 0; ; round++ {
		threads := ranked(target.Threads(j.PID), round)
		if len(threads) == 0 {
			return nil, ErrEnded
		}
		for _, th := range threads {
			t, err := j.look(th)
			if err == nil {
				return t, nil
			}
			if errors.Is(err, tracer.ErrJobControl) || th.ID == j.PID && errors.Is(err, unix.EPERM) {
				return nil, err
			}
			last = err
		}
		if j.Patience > 0 && time.Since(start) > j.Patience {
			return nil, &Refusal{
				Kind: Busy, Remedy: "try again",
				Reason: fmt.Sprintf("no safe moment to load the engine within %s (%d looks; the last thread was %v)",
					j.Patience, j.result.Looks, last),
			}
		}
		if round%collectEvery == collectEvery-1 {
			runtime.GC()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pauseBetween(round)):
		}
	}
}

// collectEvery is the number of rounds of looks after which garbage is collected.
const collectEvery = 32

// pauseBetween returns the time until the next look. It varies, so that a program that does the same
// at regular times is not always met at the same place.
func pauseBetween(round int) time.Duration {
	return time.Duration(300+round*137%1700) * time.Microsecond
}

// ranked returns the threads that should be looked at next: those that wait first, for they are
// likely to be safe, and their pause is not noticed.
func ranked(threads []target.Thread, round int) []target.Thread {
	const most = 6
	own := func(t target.Thread) bool { return t.Name == fileName }
	threads = slices.DeleteFunc(threads, own)
	slices.SortStableFunc(threads, func(a, b target.Thread) int { return cmp.Compare(moment.Rank(a), moment.Rank(b)) })
	if len(threads) > most { // others get their turn
		shift := most / 2 * round % (len(threads) - most/2)
		threads = append(threads[:most/2:most/2], append(threads[most/2+shift:], threads[most/2:most/2+shift]...)[:most/2]...)
	}
	return threads
}

// look stops a thread, and returns it if the moment is safe.
func (j *injection) look(th target.Thread) (*tracer.Thread, error) {
	j.result.Looks++
	t, err := stop(j.process, th, j.Step)
	if err != nil {
		return nil, err
	}
	err = j.judge.Safe(t)
	if err == nil {
		return t, nil
	}
	pause, released := t.Release()
	j.result.Longest = max(j.result.Longest, pause)
	if errors.Is(err, moment.ErrStale) {
		if err := j.process.Refresh(); err != nil {
			return nil, err
		}
		j.judge = moment.NewJudge(j.process, stub())
	}
	return nil, errors.Join(err, released)
}

// stop stops a thread that was just looked at. step is that of [tracer.Options].
func stop(p *target.Process, th target.Thread, step func(name string)) (*tracer.Thread, error) {
	sleeps := tracer.ReadSleeps(p.PID, []target.Thread{th}, p.Libc)
	return tracer.Stop(p.Memory, th.ID, tracer.Options{Step: step, Sleeps: sleeps})
}

func (j *injection) step(name string) {
	if j.Step != nil {
		j.Step(name)
	}
}

// borrow lets a stopped thread create the helper.
func (j *injection) borrow(t *tracer.Thread) error {
	if err := t.Borrow(j.returns, j.judge.Mappings); err != nil {
		return err
	}
	if err := j.mapScratch(t); err != nil {
		return err
	}
	j.step("write context")
	if err := j.process.Memory.Write(j.scratch, complete(j.context, j.scratch, t)); err != nil {
		return err
	}
	code := j.scratch + codeOffset
	return t.Run(tracer.Code{
		PC: code, SP: code, RBX: j.scratch, Done: j.scratch + atReturned,
		Range: target.Range{Start: code, End: code + codeSize},
	})
}

// mapScratch maps the scratch memory in the process. No page is both writable and executable.
func (j *injection) mapScratch(t *tracer.Thread) error {
	if j.scratch != 0 {
		return nil
	}
	const private, writable = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, unix.PROT_READ | unix.PROT_WRITE
	at, err := j.mmap(t, 0, scratchSize, writable, private)
	if err != nil {
		return err
	}
	code := at + codeOffset
	if _, err := j.mmap(t, code, codeSize, unix.PROT_READ|unix.PROT_EXEC, private|unix.MAP_FIXED); err != nil {
		return err
	}
	j.step("write code")
	if err := j.process.Memory.WriteCode(code, stub()); err != nil {
		return err
	}
	j.scratch = at
	return nil
}

// lowestError is the lowest number that a system call returns for an error.
const lowestError = -4095

func (j *injection) mmap(t *tracer.Thread, at, size uint64, protection, flags int) (uint64, error) {
	r, err := t.Syscall(j.returns, unix.SYS_MMAP, at, size, uint64(protection), uint64(flags), ^uint64(0), 0)
	if err == nil && r < 0 && r >= lowestError {
		err = fmt.Errorf("mmap in the process: %w", syscall.Errno(-r))
	}
	return uint64(r), err
}

// loadLimit is the time in which the helper must have loaded the engine. Another thread may hold the
// lock of the dynamic linker.
const loadLimit = 20 * time.Second

// waitLoaded gives the helper the engine, and waits until it has loaded it.
func (j *injection) waitLoaded() error {
	const pause = 100 * time.Microsecond
	m := j.process.Memory
	given := j.entry != 0
	if given {
		if err := m.PutUint32(j.scratch+atFilled, 1); err != nil {
			return err
		}
	}
	for end := time.Now().Add(loadLimit); ; time.Sleep(pause) {
		var state, created uint32
		err := j.readContext(&state, &created)
		switch {
		case err != nil:
			return err
		case created != 0:
			return fmt.Errorf("pthread_create in the process: %w", syscall.Errno(created))
		case state == stubLoaded:
			return nil
		case state == stubFailed:
			return j.loadError()
		case state == stubFile && !given:
			if err := j.giveEngine(); err != nil {
				return err
			}
			given = true
		}
		if time.Now().After(end) {
			return fmt.Errorf("the process did not load the engine within %s", loadLimit)
		}
	}
}

// loadError returns why the helper could not load the engine: the file could not be made, or the dynamic
// linker has refused it.
func (j *injection) loadError() error {
	m := j.process.Memory
	file, err := m.Uint64(j.scratch + atFile)
	if err != nil {
		return err
	}
	if n := int64(file); n < 0 && n >= lowestError {
		err := syscall.Errno(-n)
		if err == unix.EMFILE {
			return refuse(Unsupported, fmt.Sprintf("raise its limit of open files: prlimit -p %d -n1024", j.PID),
				"process %d cannot open another file", j.PID)
		}
		return fmt.Errorf("memfd_create in the process: %w", err)
	}
	return fmt.Errorf("the process cannot load the engine: %s", cmp.Or(m.String(j.scratch+atError, errorSize), "its dynamic linker gives no reason"))
}

func (j *injection) readContext(state, created *uint32) (err error) {
	if *state, err = j.process.Memory.Uint32(j.scratch + atState); err == nil {
		*created, err = j.process.Memory.Uint32(j.scratch + atCreated)
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return ErrEnded
	case errors.Is(err, unix.EFAULT) && *state == stubLoaded:
		return nil // the helper has unmapped the scratch memory
	}
	return err
}

// giveEngine writes the engine into the file that the helper has created.
func (j *injection) giveEngine() error {
	j.step("give engine")
	fd, err := j.process.Memory.Uint64(j.scratch + atFile)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", j.PID, int32(fd)), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(engine.Object(elf.EM_X86_64))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	path := fmt.Sprintf("/proc/self/fd/%d\x00", int32(fd))
	if err := j.process.Memory.Write(j.scratch+atPath, []byte(path)); err != nil {
		return err
	}
	j.step("file filled")
	return j.process.Memory.PutUint32(j.scratch+atFilled, 1)
}
