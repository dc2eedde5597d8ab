//go:build linux

package collect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// newTestCollector returns the collector of an empty directory.
func newTestCollector(t *testing.T, o Options) *Collector {
	t.Helper()
	dir := t.TempDir()
	out, err := manifest.Create(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, out.Close()) })
	require.NoError(t, out.Recording(manifest.Recording{Started: time.Now().UTC(), Engine: "tcmalloc"}))
	o.Prefix, o.Shown = filepath.Join(dir, "p"), dir
	return New(o, out)
}

// heapText returns a snapshot with n bytes in use.
func heapText(n int) []byte {
	return fmt.Appendf(nil, "heap profile: 1: %d [1: %d] @ heapprofile\n1: %d [1: %d] @ 0x1\n\n"+
		"MAPPED_LIBRARIES:\na000-fff000 r-xp 0 00:00 1 /bin/prog\n", n, n, n, n)
}

// TestChildrenAreCounted also while the program has written no snapshot, which under jemalloc takes it
// until its end. The child of a shell is the program itself.
func TestChildrenAreCounted(t *testing.T) {
	for _, c := range []struct {
		name  string
		scope Scope
		args  []string
		want  int
	}{
		{"perl", MainOnly, []string{"-e", "fork; sleep 1000"}, 1},
		{"perl", Workers, []string{"-e", "fork; sleep 1000"}, 0},
		{"perl", Workers, []string{"-e", "fork || exec 'sleep', 1000; sleep 1000"}, 1},
		{"perl", All, []string{"-e", "fork; sleep 1000"}, 0},
		{"sh", Workers, []string{"-c", "sleep 1000 & wait"}, 0},
	} {
		cmd := exec.Command(testutil.Need(t, c.name), c.args...)
		require.NoError(t, cmd.Start())
		var children []int
		for len(children) == 0 {
			time.Sleep(5 * time.Millisecond)
			children = proc.Children(cmd.Process.Pid)
		}
		collector := newTestCollector(t, Options{Root: cmd.Process.Pid, Scope: c.scope})
		require.Eventually(t, func() bool { // a fork has to become another program first
			collector.checkProcesses()
			return len(collector.unrecorded) == c.want
		}, time.Minute, poll, "%v", c)
		for _, pid := range append(children, cmd.Process.Pid) {
			process, err := os.FindProcess(pid)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
		}
		_ = cmd.Wait() // it was killed
	}
}

// TestStrangersThatGrow: the processes of other programs that grow for most of the recording are told, however deep
// they are below the program. Those that are small, short or recorded are not.
func TestStrangersThatGrow(t *testing.T) {
	grow := "import time\nkept = []\nwhile True:\n  kept.append(bytearray(1 << 20))\n  time.sleep(0.05)"
	cmd := exec.Command(testutil.Need(t, "perl"), "-e", "fork || exec @ARGV; fork || exec 'sleep', 1000; sleep 1000",
		"sh", "-c", `"$0" -c "$1"; true`, testutil.Need(t, "python3"), grow)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL); _ = cmd.Wait() })
	c := newTestCollector(t, Options{Root: pid, Scope: Workers})
	require.Eventually(t, func() bool {
		c.checkProcesses()
		return len(c.strangers.problems(c.strangers.started)) > 0
	}, time.Minute, 50*time.Millisecond)
	problems := c.strangers.problems(c.strangers.started)
	require.Len(t, problems, 1)
	require.Equal(t, pid, problems[0].PID)
	require.EqualValues(t, 1, problems[0].Count)
	require.Regexp(t, "^child processes of other programs that grew, and were not recorded: 1 .python3", problems[0].Text())
	require.Empty(t, c.strangers.problems(time.Now().Add(time.Hour)), "it has lived for a short time")

	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := strangers{started: start, seen: map[int]*stranger{
		1: {parent: 7, name: "b", first: at(2), last: at(9), base: 1 << 20, size: 6 << 20},
		2: {parent: 7, name: "a", first: at(2), last: at(9), base: 1 << 20, size: 6 << 20},
		3: {parent: 7, name: "c", first: at(2), last: at(9), base: 1 << 30, size: 1<<30 + 5<<20},
		4: {parent: 8, name: "d", first: at(2), last: at(6), base: 1 << 20, size: 6 << 20},
	}}
	require.Equal(t, []manifest.Problem{{PID: 7, Kind: manifest.ProblemPrograms, Count: 2, Detail: "a, b"}}, s.problems(at(10)))
}

// TestContainersAreNoted: --follow-children does not record a program with another root directory.
func TestContainersAreNoted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for chroot")
	}
	for _, scope := range []Scope{Workers, All} {
		cmd := exec.Command(testutil.Need(t, "perl"), "-e", "fork || exec @ARGV; sleep 1000",
			testutil.Need(t, "python3"), "-c", "import os, sys, time; os.chroot(sys.argv[1]); time.sleep(1000)", t.TempDir())
		require.NoError(t, cmd.Start())
		c := newTestCollector(t, Options{Root: cmd.Process.Pid, Scope: scope, ChildrenHint: " (--follow-children)"})
		require.Eventually(t, func() bool {
			c.checkProcesses()
			return len(c.contained) == 1
		}, time.Minute, poll)
		require.Len(t, c.notes(&Result{Snapshots: 1}), 1)
		require.Regexp(t, "^not recorded: python3.*, in a container: let the container run heaplapse record -- CMD, or .*: heaplapse attach PID$",
			c.notes(&Result{Snapshots: 1})[0])
		require.Empty(t, c.unrecorded)
		for pid := range c.contained {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
}

// TestImagesOfOneProcess checks that a new process image begins when the address of the program
// changes.
func TestImagesOfOneProcess(t *testing.T) {
	const pid = 1 << 29 // no process has this number
	c := newTestCollector(t, Options{Root: pid, Scope: MainOnly})
	add := func(pid, seq int, base string) {
		dir := c.dir
		name := fmt.Sprintf("p_%d.%04d.heap", pid, seq)
		text := fmt.Sprintf("heap profile: 1: 1 [1: 1] @ heapprofile\n\nMAPPED_LIBRARIES:\n%s-fff r-xp 0 00:00 1 /bin/prog\n", base)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		c.take(name, true)
		c.take(name, true) // a second event for the same file
	}
	for i, base := range []string{"a000", "a000", "b000", "b000", "b000"} {
		add(pid, i+1, base)
	}
	require.Len(t, c.procs[pid].images, 2)
	assert.Len(t, c.procs[pid].images[0].series, 2)
	assert.Len(t, c.procs[pid].images[1].series, 3)
	add(pid+1, 1, "a000")
	assert.False(t, c.procs[pid+1].recorded, "a child")
	assert.NoFileExists(t, filepath.Join(c.dir, fmt.Sprintf("p_%d.0001.heap", pid+1)))
}
