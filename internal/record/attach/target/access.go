//go:build linux

package target

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// HasCapability reports whether heaplapse has CAP_SYS_PTRACE.
func HasCapability() bool {
	caps, err := strconv.ParseUint(Status(unix.Gettid(), "CapEff"), 16, 64)
	return err != nil || caps>>unix.CAP_SYS_PTRACE&1 == 1
}

// WhyNoAccess explains why the kernel does not permit to trace a process, and what to do about it.
func WhyNoAccess(pid int) (reason, remedy string) {
	const yama = "/proc/sys/kernel/yama/ptrace_scope"
	uids := strings.Fields(Status(pid, "Uid"))
	scope, _ := os.ReadFile(yama)
	own := len(uids) > 1 && uids[0] == strconv.Itoa(os.Getuid()) && uids[1] == uids[0]
	return access{
		pid: pid, euid: os.Geteuid(), own: own, capable: HasCapability(), user: slices.Concat(uids, []string{"?"})[0],
		scope: strings.TrimSpace(string(scope)),
	}.explain()
}

// access is what decides whether a process may be traced.
type access struct {
	pid, euid    int
	own, capable bool   // it has heaplapse's user; heaplapse has CAP_SYS_PTRACE
	user         string // the number of the user of the process
	scope        string // of yama: 0, 1, 2, 3, or "" without yama
}

func (a access) explain() (reason, remedy string) {
	const capability = "give it that: docker run --cap-add SYS_PTRACE; in a pod, " +
		`securityContext: {capabilities: {add: ["SYS_PTRACE"]}}`
	switch {
	case a.scope == "3":
		return "kernel.yama.ptrace_scope is 3: no process may be traced", "it can only be changed at the next boot"
	case a.euid == 0 && !a.capable:
		return "heaplapse lacks the capability CAP_SYS_PTRACE, as in most containers", capability
	case !a.own && !a.capable:
		return fmt.Sprintf("process %d belongs to user %s", a.pid, a.user), "run heaplapse as that user, or as root"
	case a.scope == "2" && !a.capable:
		return "kernel.yama.ptrace_scope is 2: only root may trace processes", "run heaplapse as root"
	case a.scope == "1" && !a.capable:
		return "kernel.yama.ptrace_scope is 1: only parents and root may trace a process",
			"run heaplapse as root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0)"
	case !a.capable:
		return fmt.Sprintf("process %d does not permit to be traced (it changed its user, or called prctl(PR_SET_DUMPABLE))", a.pid),
			"run heaplapse as root"
	}
	return fmt.Sprintf("the kernel does not permit to trace process %d", a.pid),
		"run heaplapse in the container or user namespace of the process, or on the host"
}
