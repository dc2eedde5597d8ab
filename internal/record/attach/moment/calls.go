//go:build linux && amd64

package moment

import (
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// idle lists system calls in which threads wait, and which neither the allocator nor the dynamic
// linker makes.
var idle = target.Calls(
	unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_POLL, unix.SYS_PPOLL,
	unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_ACCEPT,
	unix.SYS_ACCEPT4, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SENDTO,
	unix.SYS_SENDMSG, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_PAUSE, unix.SYS_RT_SIGSUSPEND,
	unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_IO_GETEVENTS, unix.SYS_IO_URING_ENTER, unix.SYS_CONNECT,
)

// locking lists system calls that the allocator, the dynamic linker and the thread library make
// while they hold a lock or change a structure.
var locking = target.Calls(
	unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MADVISE,
	unix.SYS_CLONE, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CLONE3, unix.SYS_RT_SIGPROCMASK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGRETURN, unix.SYS_TGKILL, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
)

// isWait reports whether a system call waits for a word in memory. restart_syscall continues such a
// call, or a sleep, after it was interrupted.
func isWait(call int64) bool { return call == unix.SYS_FUTEX || call == unix.SYS_RESTART_SYSCALL }

// Rank orders threads by how likely they are at a safe moment, the likeliest first.
func Rank(t target.Thread) int {
	switch {
	case !t.Running && idle[t.Call]:
		return 0
	case t.Call == unix.SYS_FUTEX:
		return 1
	}
	return 2
}
