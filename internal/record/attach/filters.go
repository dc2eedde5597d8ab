//go:build linux && amd64

package attach

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/seccomp"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

const (
	seccompStrict = "1"
	seccompFilter = "2"
)

// checkSeccomp refuses processes whose filters do not permit the system calls that attach makes. A
// thread with a filter is stopped to read it. Threads with the same number of filters are taken to
// have the same ones.
func checkSeccomp(p *target.Process) error {
	const patience, pause = time.Second, time.Millisecond
	seen := map[string]bool{}
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		err := checkUnseen(p, seen)
		var waiting *tracer.Waiting
		switch {
		case !errors.As(err, &waiting):
			return err
		case time.Now().After(end):
			return refuse(Busy, "try again", "the seccomp filter of process %d cannot be read: thread %d %v",
				p.PID, waiting.Thread.ID, waiting)
		}
	}
}

// checkUnseen checks the filters of threads with another number of filters than was seen. It returns
// [tracer.Waiting] if such a thread could not be stopped.
func checkUnseen(p *target.Process, seen map[string]bool) (left error) {
	for _, th := range target.Threads(p.PID) {
		mode := target.Status(th.ID, "Seccomp")
		number := target.Status(th.ID, "Seccomp_filters")
		if mode == seccompStrict {
			return refuse(Unsupported, "", "a thread of process %d runs under strict seccomp: nothing can be loaded", p.PID)
		}
		if mode != seccompFilter || seen[number] {
			continue
		}
		err := checkFilters(p, th)
		var waiting *tracer.Waiting
		switch {
		case err == nil:
			seen[number] = true
		case errors.As(err, &waiting):
			left = waiting
		default:
			return err
		}
	}
	return left
}

func checkFilters(p *target.Process, th target.Thread) error {
	filters, err := readFilters(p, th)
	const unknown = "process %d runs under a seccomp filter, which cannot be read (%s): whether it would be killed is unknown"
	switch {
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return refuse(NoAccess, "run heaplapse as root, with CAP_SYS_ADMIN", unknown, p.PID, "permission denied")
	case errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL):
		return refuse(NoAccess, useRecord, unknown, p.PID, "the kernel lacks CONFIG_CHECKPOINT_RESTORE")
	}
	if err != nil {
		return fmt.Errorf("seccomp filter of process %d: %w", p.PID, err)
	}
	if err := seccomp.Check(filters); err != nil {
		return refuse(Unsupported, "permit them, or record the program without the filter", "process %d cannot be attached to: %v", p.PID, err)
	}
	return nil
}

func readFilters(p *target.Process, th target.Thread) (filters [][]byte, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t, err := stop(p, th, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		_, released := t.Release()
		err = errors.Join(err, released)
	}()
	for i := 0; ; i++ {
		f, ok, err := t.Filter(i)
		if !ok || err != nil {
			return filters, err
		}
		filters = append(filters, f)
	}
}
