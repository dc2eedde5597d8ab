//go:build linux && amd64

package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const regsetXState = 0x202 // NT_X86_XSTATE

func ptrace(request, id int, address, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(id), address, data, 0, 0); e != 0 {
		return os.NewSyscallError("ptrace", e)
	}
	return nil
}

// setOptions sets the options of a thread that is stopped.
func setOptions(id int, options uintptr) error { return ptrace(unix.PTRACE_SETOPTIONS, id, 0, options) }

// newChild returns the number of the process that a thread has created, if it was stopped because of
// that (PTRACE_EVENT_CLONE), or 0.
func newChild(id int) int {
	const created = int32(unix.SIGTRAP | unix.PTRACE_EVENT_CLONE<<8)
	var info [128]byte // siginfo_t: si_signo, si_errno, si_code
	if ptrace(unix.PTRACE_GETSIGINFO, id, 0, uintptr(unsafe.Pointer(&info))) != nil {
		return 0
	}
	if int32(binary.LittleEndian.Uint32(info[8:])) != created {
		return 0
	}
	child, err := unix.PtraceGetEventMsg(id)
	if err != nil {
		return 0
	}
	return int(child)
}

// extendedState returns the vector registers and others, in the standard format of XSAVE.
func extendedState(id int) ([]byte, error) {
	const largest = 16 << 10
	b := make([]byte, largest)
	iov := unix.Iovec{Base: &b[0], Len: largest}
	if err := ptrace(unix.PTRACE_GETREGSET, id, regsetXState, uintptr(unsafe.Pointer(&iov))); err != nil {
		return nil, err
	}
	return b[:iov.Len], nil
}

// waitFor waits until the status of a thread or process that is traced changes.
func waitFor(id int, limit time.Duration) (ws unix.WaitStatus, err error) {
	for end := time.Now().Add(limit); ; nap() {
		n, err := unix.Wait4(id, &ws, unix.WALL|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return ws, os.NewSyscallError("wait4", err)
		case n == id:
			return ws, nil
		case time.Now().After(end):
			return ws, fmt.Errorf("process %d does not stop: %w", id, os.ErrDeadlineExceeded)
		}
	}
}

// nap sleeps for some microseconds: the timers of Go are too coarse while threads are stopped.
func nap() {
	ts := unix.Timespec{Nsec: 20000}
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
