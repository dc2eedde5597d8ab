//go:build linux && amd64

package seccomp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// need is a system call that attaching makes in the process.
type need struct {
	number uint32
	name   string
	// optional calls may fail with an error: there is another way, or nothing much is lost.
	optional bool
	first    uint64 // the first argument
}

// threadFlags are those with which the C library creates a thread.
const threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
	unix.CLONE_SYSVSEM | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID

const prSetName = 15

// needs lists the calls of the code that creates the helper, of the C library when it creates a
// thread and loads a library, and of the engine: of its helper, its writer and its slow paths.
var needs = []need{
	{number: unix.SYS_MMAP, name: "mmap"},
	{number: unix.SYS_MPROTECT, name: "mprotect"},
	{number: unix.SYS_MUNMAP, name: "munmap"},
	{number: unix.SYS_CLONE, name: "clone", first: threadFlags},
	{number: unix.SYS_CLONE3, name: "clone3", optional: true},
	{number: unix.SYS_RT_SIGPROCMASK, name: "rt_sigprocmask"},
	{number: unix.SYS_RT_SIGRETURN, name: "rt_sigreturn"},
	{number: unix.SYS_SET_ROBUST_LIST, name: "set_robust_list", optional: true},
	{number: unix.SYS_RSEQ, name: "rseq", optional: true},
	{number: unix.SYS_SCHED_YIELD, name: "sched_yield", optional: true},
	{number: unix.SYS_NANOSLEEP, name: "nanosleep"},
	{number: unix.SYS_MEMFD_CREATE, name: "memfd_create"},
	{number: unix.SYS_OPENAT, name: "openat"},
	{number: unix.SYS_READ, name: "read"},
	{number: unix.SYS_PREAD64, name: "pread64"},
	{number: unix.SYS_CLOSE, name: "close"},
	{number: unix.SYS_CLOSE_RANGE, name: "close_range", optional: true},
	{number: unix.SYS_FSTAT, name: "fstat"},
	{number: unix.SYS_NEWFSTATAT, name: "newfstatat", optional: true},
	{number: unix.SYS_READLINKAT, name: "readlinkat", optional: true},
	{number: unix.SYS_LSEEK, name: "lseek"},
	{number: unix.SYS_FCNTL, name: "fcntl"},
	{number: unix.SYS_UNSHARE, name: "unshare", optional: true, first: unix.CLONE_FILES},
	{number: unix.SYS_PRLIMIT64, name: "prlimit64", optional: true},
	{number: unix.SYS_PROCESS_VM_READV, name: "process_vm_readv", optional: true},
	{number: unix.SYS_PRCTL, name: "prctl", optional: true, first: prSetName},
	{number: unix.SYS_MADVISE, name: "madvise", optional: true},
	{number: unix.SYS_MINCORE, name: "mincore", optional: true},
	{number: unix.SYS_CLOCK_GETTIME, name: "clock_gettime"},
	{number: unix.SYS_FUTEX, name: "futex"},
	{number: unix.SYS_TGKILL, name: "tgkill"},
	{number: unix.SYS_GETTID, name: "gettid"},
	{number: unix.SYS_GETPID, name: "getpid"},
	{number: unix.SYS_GETPPID, name: "getppid", optional: true},
	{number: unix.SYS_GETRESUID, name: "getresuid", optional: true},
	{number: unix.SYS_GETRESGID, name: "getresgid", optional: true},
	{number: unix.SYS_EXIT, name: "exit"},
}

// Check returns an error that names the calls that a process cannot make under all of its filters
// together.
func Check(filters [][]byte) error {
	var refused []string
	for _, n := range needs {
		for _, f := range filters {
			action, err := Run(f, Call{Number: n.number, Arguments: [6]uint64{n.first}})
			if err != nil {
				return err
			}
			permitted := action == Allow || action == Log || action == Errno && n.optional
			if !permitted && !slices.Contains(refused, n.name) {
				refused = append(refused, n.name)
			}
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("its seccomp filter does not permit %s", strings.Join(refused, ", "))
	}
	return nil
}
