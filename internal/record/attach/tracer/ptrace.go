//go:build linux && amd64

package tracer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// Requests and constants of ptrace(2) that package unix lacks.
const (
	getSignalMask = 0x420a
	setSignalMask = 0x420b
	getRseq       = 0x420f
	getFilter     = 0x420c
	regsetXState  = 0x202
	syscallStop   = unix.SIGTRAP | 0x80
)

// ErrEnded is returned if the thread has ended.
var ErrEnded = errors.New("the thread has ended")

// ErrJobControl is returned if a signal such as SIGSTOP has stopped the process.
var ErrJobControl = errors.New("the process is stopped by a signal")

func ptrace(request, tid int, address, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// nap sleeps for some microseconds. It ends earlier if the thread stops: then the kernel sends SIGCHLD
// to the thread that traces it. Looking again and again without a nap would keep the processor from
// the thread, which may run on the same. The timers of Go are too coarse.
func nap() {
	ts := unix.Timespec{Nsec: 30000}
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// event returns the event of a ptrace stop, or 0.
func event(ws unix.WaitStatus) int { return int(ws>>16) & 0xff }

// poll returns the status of the thread if it has changed.
func (t *Thread) poll() (ws unix.WaitStatus, changed bool, err error) {
	if t.child {
		return t.pollChild()
	}
	pid, err := unix.Wait4(t.ID, &ws, unix.WALL|unix.WNOHANG, nil)
	if errors.Is(err, unix.EINTR) {
		return ws, false, nil
	}
	if err == nil && pid == t.ID && (ws.Exited() || ws.Signaled()) {
		err = ErrEnded
	}
	return ws, pid == t.ID, err
}

// pollChild is poll for a child of this process. wait4 would take its end from the one who waits for it.
func (t *Thread) pollChild() (ws unix.WaitStatus, changed bool, err error) {
	var info struct {
		signal, errno, code, _ int32
		pid, user, status      int32
		_                      [100]byte
	}
	const options = unix.WSTOPPED | unix.WALL | unix.WNOHANG
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(t.ID), uintptr(unsafe.Pointer(&info)), options, 0, 0)
	switch {
	case e == unix.EINTR:
		return 0, false, nil
	case e != 0:
		return 0, false, e
	case info.pid == 0 && strings.HasPrefix(target.Status(t.ID, "State"), "Z"):
		return 0, false, ErrEnded
	}
	const stopped = 0x7f // as wait4 marks it
	return unix.WaitStatus(info.status<<8 | stopped), info.pid != 0, nil
}

// wait waits until the status of the thread changes.
func (t *Thread) wait(limit time.Duration) (unix.WaitStatus, error) {
	for end := time.Now().Add(limit); ; nap() {
		ws, changed, err := t.poll()
		if changed || err != nil {
			return ws, err
		}
		if time.Now().After(end) {
			return 0, fmt.Errorf("thread %d does not stop: %w", t.ID, os.ErrDeadlineExceeded)
		}
	}
}

// interrupt stops the thread. Signals that are on their way to it are delivered first. Any stop ends the kernel's
// request for one (ptrace_stop in kernel/signal.c), so that it is made again after each signal: a timer of the program
// may send them faster than this thread runs.
func (t *Thread) interrupt(limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		t.step("interrupt")
		if err := ptrace(unix.PTRACE_INTERRUPT, t.ID, 0, 0); err != nil {
			return os.NewSyscallError("ptrace", err)
		}
		ws, err := t.wait(time.Until(end))
		if err != nil {
			return err
		}
		signal := ws.StopSignal()
		if event(ws) == unix.PTRACE_EVENT_STOP {
			if signal != unix.SIGTRAP {
				return ErrJobControl
			}
			return nil
		}
		if signal == syscallStop {
			signal = 0
		}
		if err := ptrace(unix.PTRACE_CONT, t.ID, 0, uintptr(signal)); err != nil {
			return os.NewSyscallError("ptrace", err)
		}
	}
}
