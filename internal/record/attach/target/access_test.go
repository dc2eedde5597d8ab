//go:build linux

package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestExplainsAccess checks the reasons that depend on the machine.
func TestExplainsAccess(t *testing.T) {
	const root, user = 0, 1000
	for _, c := range []struct {
		access
		text string
	}{
		{access{pid: 7, euid: user, own: true, scope: "1"}, "kernel.yama.ptrace_scope is 1: only parents and root may trace a process: " +
			"run heaplapse as root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0)"},
		{access{pid: 7, euid: user, own: true, scope: "2"},
			"kernel.yama.ptrace_scope is 2: only root may trace processes: run heaplapse as root"},
		{access{pid: 7, euid: root, own: true, capable: true, scope: "3"},
			"kernel.yama.ptrace_scope is 3: no process may be traced: it can only be changed at the next boot"},
		{access{pid: 7, euid: user, user: "0", scope: "1"}, "process 7 belongs to user 0: run heaplapse as that user, or as root"},
		{access{pid: 7, euid: root, own: true, scope: "0"}, "heaplapse lacks the capability CAP_SYS_PTRACE, as in most containers: " +
			`give it that: docker run --cap-add SYS_PTRACE; in a pod, securityContext: {capabilities: {add: ["SYS_PTRACE"]}}`},
		{access{pid: 7, euid: user, own: true}, "process 7 does not permit to be traced (it changed its user, or called " +
			"prctl(PR_SET_DUMPABLE)): run heaplapse as root"},
		{access{pid: 7, euid: root, own: true, capable: true}, "the kernel does not permit to trace process 7: " +
			"run heaplapse in the container or user namespace of the process, or on the host"},
	} {
		reason, remedy := c.explain()
		assert.Equal(t, c.text, reason+": "+remedy)
	}
}
