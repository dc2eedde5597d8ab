//go:build linux && amd64

package snapshot

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/seccomp"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
)

func refuse(remedy, format string, args ...any) error {
	return &Refusal{fmt.Sprintf(format, args...), remedy}
}

// mayTrace reports whether the filter of system calls around heaplapse permits to trace, or answers: one that kills
// cannot be asked. A child of this process makes the system call first.
var mayTrace = sync.OnceValue(func() bool {
	if target.Status(os.Getpid(), "Seccomp") != "2" {
		return true
	}
	runtime.LockOSThread() // the thread that traces the child waits for it
	defer runtime.UnlockOSThread()
	var cores, none unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_CORE, nil, &cores) == nil {
		none.Max = cores.Max
		_ = unix.Prlimit(0, unix.RLIMIT_CORE, &none, nil) // the child may be killed, and must not leave a file
		defer func() { _ = unix.Prlimit(0, unix.RLIMIT_CORE, &cores, nil) }()
	}
	// It stops before the first instruction of the program.
	child, err := os.StartProcess("/proc/self/exe", []string{"heaplapse"}, &os.ProcAttr{Sys: &unix.SysProcAttr{Ptrace: true}})
	if err != nil {
		return true // it answers
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(child.Pid, &status, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return true
		}
		if status.Exited() || status.Signaled() {
			return status.Signal() != unix.SIGSYS
		}
		_ = child.Kill()
	}
})

// checkOwnFilter refuses if tracing would end heaplapse.
func checkOwnFilter(int) error {
	if mayTrace() {
		return nil
	}
	return refuse("", "the seccomp filter around heaplapse kills a process that traces another")
}

// check finds reasons to refuse a process without stopping it.
func check(pid int) error {
	for _, c := range []func(int) error{checkState, checkOwnFilter, checkAccess, checkShadowStack, checkNamespace} {
		if err := c(pid); err != nil {
			return err
		}
	}
	return checkRoom(os.DirFS("/"), pid)
}

func checkState(pid int) error {
	state := target.Status(pid, "State")
	switch {
	case state == "" || pid <= 0:
		return refuse("pgrep NAME prints the numbers of those of a program", "there is no process %d", pid)
	case pid == os.Getpid():
		return refuse("", "process %d is heaplapse itself", pid)
	case target.Status(pid, "Tgid") != strconv.Itoa(pid):
		return refuse("give the number of its process, "+target.Status(pid, "Tgid"), "%d is a thread", pid)
	case state[0] == 'Z' || state[0] == 'X':
		return refuse("", "process %d or its main thread has ended", pid)
	}
	if by := target.Tracer(pid); by != "" {
		return refuse("end that first", "process %d is traced by process %s", pid, by)
	}
	if state[0] == 'T' || state[0] == 't' {
		return refuse(fmt.Sprintf("let it continue first (kill -CONT %d)", pid), "process %d is stopped", pid)
	}
	return nil
}

// checkAccess asks the kernel whether the process may be traced: reading its memory needs the same.
func checkAccess(pid int) error {
	err := target.Memory{PID: pid}.Read(0, make([]byte, 1))
	switch {
	case errors.Is(err, unix.EPERM):
		reason, remedy := target.WhyNoAccess(pid)
		if target.HasCapability() && target.Status(os.Getpid(), "Seccomp") == "2" {
			remedy = "the seccomp filter around heaplapse may forbid it"
		}
		return refuse(remedy, "%s", reason)
	case errors.Is(err, unix.ENOSYS):
		return refuse("", "a seccomp filter around heaplapse forbids reading the memory of processes")
	case errors.Is(err, unix.ESRCH):
		return refuse("", "process %d has no memory of its own", pid)
	}
	return nil
}

// checkShadowStack refuses processes in which the processor checks return addresses: the borrowed
// thread would be killed.
func checkShadowStack(pid int) error {
	if strings.Contains(target.Status(pid, "x86_Thread_features"), "shstk") {
		return refuse("", "process %d uses shadow stacks", pid)
	}
	return nil
}

// checkNamespace refuses processes that have called unshare(CLONE_NEWPID): the child would be the first
// of the namespace, which ends with it.
func checkNamespace(pid int) error {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return err
	}
	children, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", pid))
	if err == nil && children == own {
		return nil
	}
	return refuse("", "children of process %d are in another PID namespace", pid)
}

// calls lists the system calls that the process makes, with their first arguments.
var calls = []struct {
	name   string
	number uint32
	first  uint64
}{
	{"clone", unix.SYS_CLONE, cloneFlags},
	{"rt_sigreturn", unix.SYS_RT_SIGRETURN, 0},
	{"wait4", unix.SYS_WAIT4, 0},
}

// checkFilters refuses a thread whose seccomp filters do not permit the calls.
func checkFilters(t *tracer.Thread) error {
	const none, filter = "0", "2"
	switch mode := target.Status(t.ID, "Seccomp"); mode {
	case none:
		return nil
	case filter:
	default:
		return refuse("", "a thread of process %d runs under strict seccomp", t.Memory.PID)
	}
	const most = 256
	for i := range most {
		program, ok, err := t.Filter(i)
		switch {
		case err != nil:
			return refuse("run heaplapse as root, with CAP_SYS_ADMIN",
				"process %d runs under a seccomp filter, which cannot be read (%v)", t.Memory.PID, err)
		case !ok:
			return nil
		}
		if err := checkFilter(t.Memory.PID, program); err != nil {
			return err
		}
	}
	return refuse("", "process %d runs under more than %d seccomp filters", t.Memory.PID, most)
}

func checkFilter(pid int, program []byte) error {
	for _, c := range calls {
		action, err := seccomp.Run(program, seccomp.Call{Number: c.number, Arguments: [6]uint64{c.first}})
		if err != nil {
			return err
		}
		if action != seccomp.Allow && action != seccomp.Log {
			return refuse("", "the seccomp filter of process %d does not permit %s", pid, c.name)
		}
	}
	return nil
}

// explain returns the reason why clone has failed.
func explain(pid int, e unix.Errno) error {
	switch e {
	case unix.EAGAIN:
		return refuse("", "process %d may create no process: its control group (pids.max) or its user (RLIMIT_NPROC) "+
			"has as many as permitted", pid)
	case unix.ENOMEM:
		return refuse("", "the kernel does not promise the memory for a copy of process %d (vm.overcommit_memory)", pid)
	}
	return refuse("", "process %d cannot be forked: %v", pid, e)
}
