//go:build linux

package container

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// run starts a program that says that it is ready. It and its children end with the test.
func run(t *testing.T, args ...string) int {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testutil.Ready(t, cmd)
	pid := cmd.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	return pid
}

// write writes what a runtime keeps about a container.
func write(t *testing.T, path, text string) { testutil.WriteFile(t, path, text, 0o600) }

// state is that of runc about a container whose first process started at a time.
func state(id string, pid int, started uint64) string {
	return fmt.Sprintf(`{"id":%q,"init_process_pid":%d,"init_process_start":%d}`, id, pid, started)
}

// TestProgram finds processes by what each runtime writes about containers.
func TestProgram(t *testing.T) {
	perl := testutil.Need(t, "perl")
	one := run(t, perl, "-e", "$| = 1; print qq(ready\n); sleep 300")
	id := func(c string) string { return strings.Repeat(c, 64) }
	group := func(root, line string) {
		write(t, fmt.Sprintf("%s/proc/%d/cgroup", root, one), line+"\n")
	}
	for name, c := range map[string]struct {
		make  func(root string)
		names []string
	}{
		"runc": {func(root string) {
			write(t, root+"/run/runc/web/state.json", state("web", one, ticks(one)))
			write(t, root+"/run/runc/old/state.json", state("old", one, 1))
		}, []string{"web"}},
		"crun": {func(root string) {
			write(t, root+"/run/crun/web/status", fmt.Sprintf(`{"pid":%d,"process-start-time":%d}`, one, ticks(one)))
		}, []string{"web"}},
		"docker": {func(root string) {
			write(t, root+"/var/lib/docker/containers/"+id("a")+"/config.v2.json",
				fmt.Sprintf(`{"ID":%q,"Name":"/web","State":{"Running":true,"Pid":%d}}`, id("a"), one))
			write(t, root+"/var/lib/docker/containers/"+id("b")+"/config.v2.json",
				fmt.Sprintf(`{"ID":%q,"Name":"/stopped","State":{"Running":false,"Pid":0}}`, id("b")))
			group(root, "0::/system.slice/docker-"+id("a")+".scope")
		}, []string{"web", id("a"), "aaaa", "aaaaaaaaaaaa"}},
		"podman": {func(root string) {
			write(t, root+"/var/lib/containers/storage/overlay-containers/containers.json",
				fmt.Sprintf(`[{"id":%q,"names":["web"]},{"id":%q,"names":["stopped"]}]`, id("a"), id("b")))
			group(root, "0::/machine.slice/libpod-"+id("a")+".scope/container")
		}, []string{"web", "aaaaa"}},
		"kubernetes": {func(root string) {
			write(t, root+"/var/log/containers/shop-7d5_prod_web-"+id("a")+".log", "")
			group(root, "11:memory:/x\n0::/kubepods.slice/kubepods-pod12.slice/cri-containerd-"+id("a")+".scope")
		}, []string{"web", "shop-7d5", "shop-7d5/web", "prod/shop-7d5/web", "aaaa"}},
		"cgroup v1": {func(root string) { group(root, "4:memory:/docker/"+id("a")) }, []string{"aaaa"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.make(root)
			for _, name := range c.names {
				pid, err := host{root}.program(name)
				require.NoError(t, err, name)
				assert.Equal(t, one, pid, name)
			}
			for _, name := range []string{"old", "stopped", "aaa", "bbbb", "we", ""} {
				_, err := host{root}.program(name)
				assert.ErrorContains(t, err, "no container "+name+": those that run are ", name)
			}
		})
	}
	_, err := host{t.TempDir()}.program("web")
	assert.EqualError(t, err, "no container web: none was found on this host; its processes have PIDs here, too: pgrep NAME")

	root := t.TempDir()
	for i, c := range []string{"ab", "ac"} {
		write(t, fmt.Sprintf("%s/var/log/containers/shop-%d_prod_web-%s.log", root, i, strings.Repeat(c, 32)), "")
	}
	group(root, "0::/x/"+strings.Repeat("ab", 32))
	two := run(t, perl, "-e", "$| = 1; print qq(ready\n); sleep 300")
	write(t, fmt.Sprintf("%s/proc/%d/cgroup", root, two), "0::/x/"+strings.Repeat("ac", 32)+"\n")
	_, err = host{root}.program("web")
	assert.EqualError(t, err, "2 containers are called web: name one of abababababab (prod/shop-0/web), acacacacacac (prod/shop-1/web)")
}

// TestPrograms: programs that only start others do not count, and several programs are named.
func TestPrograms(t *testing.T) {
	perl := testutil.Need(t, "perl")
	one := run(t, "sh", "-c", `"$0" -e '$| = 1; fork; print qq(ready\n); sleep 300'; true`, perl)
	list := programs(one)
	require.Len(t, list, 1, "a program and its fork")
	info, ok := proc.Read(list[0])
	require.True(t, ok)
	assert.Equal(t, one, info.Parent)

	many := run(t, "sh", "-c", `"$0" -e 'sleep 300' & sleep 300 & sleep 0.2; echo ready; wait`, perl)
	root := t.TempDir()
	write(t, root+"/run/runc/web/state.json", state("web", many, ticks(many)))
	require.Eventually(t, func() bool { return len(programs(many)) == 2 }, 60e9, 10e6)
	_, err := host{root}.program("web")
	assert.ErrorContains(t, err, "container web runs several programs: attach to one of them by its PID: ")
	assert.ErrorContains(t, err, "(sleep)")
}
