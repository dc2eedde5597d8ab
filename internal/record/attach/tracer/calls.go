//go:build linux && amd64

package tracer

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// A stop interrupts the system call in which a thread waits. Most calls go on by themselves, others
// return EINTR or what was done so far, although no signal handler was run (signal(7), "Interruption of
// system calls and library functions by stop signals"). The thread is stopped only if its program sees
// no difference: the call goes on (goesOn), or returns EINTR before it has done anything, and is
// made again for the rest of its time (interruptedRegs).

// goesOn lists system calls that go on by themselves, with the rest of their time.
var goesOn = target.Calls(
	unix.SYS_FUTEX, unix.SYS_RESTART_SYSCALL, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_POLL,
	unix.SYS_PAUSE, unix.SYS_RT_SIGSUSPEND, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_MSGRCV, unix.SYS_MSGSND,
	unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_TIMEDSEND, unix.SYS_FLOCK, unix.SYS_FCNTL, sysFutexWaitv, sysFutexWait,
	// The program does not see that these wait.
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_BRK,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SCHED_YIELD,
)

const sysFutexWaitv, sysFutexWait = 449, 455

// interrupted lists system calls that return EINTR, with the number of the argument that points to
// their time limit, or -1. Without a limit they are made again as they are.
var interrupted = map[int64]int{
	unix.SYS_SEMOP: -1, unix.SYS_SEMTIMEDOP: 3, unix.SYS_RT_SIGTIMEDWAIT: 2, unix.SYS_EPOLL_PWAIT2: 3,
	unix.SYS_IO_GETEVENTS: 4, unix.SYS_IO_PGETEVENTS: 4,
}

// rest lists system calls that go on for the rest of their time, which the kernel writes to the limit, with the number
// of the argument that points to it. If that cannot be written, they return EINTR.
var rest = map[int64]int{unix.SYS_PPOLL: 2, unix.SYS_SELECT: 4, unix.SYS_PSELECT6: 4}

// milliseconds lists system calls that return EINTR and have a time limit in milliseconds, an int, in
// the fourth argument: no limit if it is negative.
var milliseconds = target.Calls(unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT)

// onSockets lists system calls that go on by themselves if the socket has no time limit, or else return
// EINTR, with the option that is the limit.
var onSockets = map[int64]int{
	unix.SYS_RECVFROM: unix.SO_RCVTIMEO, unix.SYS_RECVMSG: unix.SO_RCVTIMEO, unix.SYS_READ: unix.SO_RCVTIMEO,
	unix.SYS_READV: unix.SO_RCVTIMEO, unix.SYS_ACCEPT: unix.SO_RCVTIMEO, unix.SYS_ACCEPT4: unix.SO_RCVTIMEO,
	unix.SYS_CONNECT: unix.SO_SNDTIMEO,
}

// Waiting is returned if a thread is not stopped, because its program would notice.
type Waiting struct {
	// Thread is what was known when it was left alone: its stack pointer, and where it makes the call. Nothing is known
	// if it runs.
	Thread target.Thread
}

// Error tells the system call.
func (w *Waiting) Error() string {
	if w.Thread.Running {
		return "works in a system call, which a stop would end early"
	}
	name := callNames[w.Thread.Call]
	if name == "" {
		name = fmt.Sprintf("system call %d", w.Thread.Call)
	}
	return fmt.Sprintf("waits in %s, which a stop would end early", name)
}

// callNames has the names of system calls in which threads wait and are not stopped.
var callNames = map[int64]string{
	unix.SYS_READ: "read", unix.SYS_WRITE: "write", unix.SYS_READV: "readv", unix.SYS_WRITEV: "writev",
	unix.SYS_RECVFROM: "recv", unix.SYS_RECVMSG: "recvmsg", unix.SYS_SENDTO: "send", unix.SYS_SENDMSG: "sendmsg",
	unix.SYS_ACCEPT: "accept", unix.SYS_ACCEPT4: "accept", unix.SYS_CONNECT: "connect", unix.SYS_IOCTL: "ioctl",
	unix.SYS_SENDFILE: "sendfile", unix.SYS_OPENAT: "open", unix.SYS_SEMTIMEDOP: "semtimedop",
	unix.SYS_RT_SIGTIMEDWAIT: "sigtimedwait", unix.SYS_IO_URING_ENTER: "io_uring_enter",
	unix.SYS_EPOLL_WAIT: "epoll_wait", unix.SYS_EPOLL_PWAIT: "epoll_pwait", unix.SYS_EPOLL_PWAIT2: "epoll_pwait2",
}

// mustNotStop returns the thread as it must not be stopped, because the program may notice.
func (s *Sleeps) mustNotStop(id int) (t target.Thread, refused bool) {
	t, ok := target.ReadThread(s.pid, id)
	switch {
	case !ok:
		return t, false // it has ended, or the stop tells why it cannot be read
	case t.Running:
		t, refused = s.often[id]
		return t, refused
	}
	_, often := s.often[id]
	return t, often || s.leavesTrace(t)
}

// leavesTrace reports whether the call of a thread would tell that it was stopped.
func (s *Sleeps) leavesTrace(t target.Thread) bool {
	const flags, all, toSubmit, least, leastOfRing = 3, unix.MSG_WAITALL, 1, 1, 2
	call := t.Call
	switch {
	case t.Running, call < 0, goesOn[call]:
		return false
	case milliseconds[call]:
		return int32(t.Arguments[3]) > 0 && !s.canShorten(t)
	case call == unix.SYS_RECVFROM && t.Arguments[flags]&all != 0, call == unix.SYS_RECVMSG && t.Arguments[2]&all != 0:
		return true // it would return what it has so far
	case onSockets[call] != 0:
		return !waitsForever(s.pid, int(int32(t.Arguments[0])), onSockets[call])
	case call == unix.SYS_IO_GETEVENTS || call == unix.SYS_IO_PGETEVENTS:
		return t.Arguments[least] > 1 || t.Arguments[interrupted[call]] != 0
	case call == unix.SYS_IO_URING_ENTER:
		return t.Arguments[toSubmit] != 0 || t.Arguments[leastOfRing] > 1 || t.Arguments[flags]&ioUringArgument != 0
	}
	if limit, ok := rest[call]; ok {
		return t.Arguments[limit] != 0 && !onStack(t, t.Arguments[limit])
	}
	limit, ok := interrupted[call]
	return !ok || limit >= 0 && t.Arguments[limit] != 0
}

// onStack reports whether an address is in the part of the stack of a thread that is in use, near its end.
func onStack(t target.Thread, address uint64) bool {
	const redZone, near = 128, 256 << 10
	return address >= t.SP-redZone && address-(t.SP-redZone) < near
}

// ioUringArgument is IORING_ENTER_EXT_ARG of io_uring_enter(2): an argument may have a time limit.
const ioUringArgument = 1 << 3

// waitsForever reports whether a call that waits for a descriptor goes on after a stop: that of a pipe, an event and so
// on, or of a terminal or a socket without a time limit. Files may be those of a program (FUSE), which learns of the
// interruption.
func waitsForever(pid, fd, option int) bool {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	switch {
	case err != nil:
		return false
	case strings.HasPrefix(name, "socket:"):
		return ofDescriptor(pid, fd, func(own int) bool { return socketWaits(own, option) })
	case strings.HasPrefix(name, "/dev/pts/"), strings.HasPrefix(name, "/dev/tty"):
		return ofDescriptor(pid, fd, terminalWaits)
	}
	return strings.HasPrefix(name, "pipe:") || strings.HasPrefix(name, "anon_inode:") || name == "/dev/fuse"
}

// ofDescriptor asks about a descriptor of the process. It returns false if that is impossible, as before Linux 5.6.
func ofDescriptor(pid, fd int, ask func(own int) bool) bool {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(p) }()
	own, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(own) }()
	return ask(own)
}

// socketWaits reports whether a socket has no time limit, and returns the first byte that comes.
func socketWaits(fd, option int) bool {
	limit, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, option)
	if err != nil || limit.Sec != 0 || limit.Usec != 0 {
		return false
	}
	least, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	return err == nil && least <= 1
}

// terminalWaits reports whether a terminal returns whole lines, or has no time limit and returns the first byte.
func terminalWaits(fd int) bool {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil && (t.Lflag&unix.ICANON != 0 || t.Cc[unix.VMIN] == 1 && t.Cc[unix.VTIME] == 0)
}

// isRepeated reports whether the stop has made a system call return EINTR that is made again then.
func isRepeated(call int64) bool {
	_, ok := interrupted[call]
	return ok || milliseconds[call] || onSockets[call] != 0 || call == unix.SYS_IO_URING_ENTER ||
		call == unix.SYS_SENDTO || call == unix.SYS_SENDMSG
}

// shorten returns the registers of a call with a limit in milliseconds that has waited for some time.
func shorten(r unix.PtraceRegs, waited time.Duration) unix.PtraceRegs {
	if limit := int32(r.R10); limit > 0 && milliseconds[int64(r.Orig_rax)] {
		left := time.Duration(limit)*time.Millisecond - waited
		// Rounded up: a wait may be longer than asked for, but not shorter.
		r.R10 = uint64(max(0, min(int64((left+time.Millisecond-1)/time.Millisecond), math.MaxInt32)))
	}
	return r
}
