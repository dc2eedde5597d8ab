//go:build linux && amd64

package attach

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestMain is also the program that attaches and is killed: see kill.
func TestMain(m *testing.M) {
	if os.Getenv("ATTACH_PID") != "" {
		attachAndDie()
	}
	os.Exit(m.Run())
}

// attachAndDie attaches to a process. At a step it kills itself, or, if the step is -1, it writes the
// names of all steps.
func attachAndDie() {
	pid, _ := strconv.Atoi(os.Getenv("ATTACH_PID"))
	last, _ := strconv.Atoi(os.Getenv("ATTACH_STEP"))
	if os.Getenv("ATTACH_DROP") != "" {
		dropCapability()
	}
	var steps []string
	step := func(name string) {
		if len(steps) == last {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		steps = append(steps, name)
	}
	r, err := channel.Open(filepath.Join(os.Getenv("ATTACH_DIR"), "p"))
	var s *Session
	if err == nil {
		s, err = Start(context.Background(), Options{
			PID: pid, Settings: os.Getenv("ATTACH_SETTINGS"), Adopt: r.Adopt, Patience: 30 * time.Second, Step: step,
		})
	}
	if err == nil {
		_, err = s.Stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(steps, "\n"))
	os.Exit(0)
}

// dropCapability takes CAP_SYS_PTRACE away from this thread.
func dropCapability() {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&h, &data[0]); err != nil {
		panic(err)
	}
	data[0].Effective &^= 1 << unix.CAP_SYS_PTRACE
	data[0].Permitted &^= 1 << unix.CAP_SYS_PTRACE
	runtime.LockOSThread()
	if err := unix.Capset(&h, &data[0]); err != nil {
		panic(err)
	}
}

// attachChild runs attachAndDie in a process of its own, and returns the names of its steps.
func attachChild(t *testing.T, p *process, step int) (steps []string, killed bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	r := settings(t.TempDir(), 16384, 0)
	cmd.Env = append(os.Environ(), fmt.Sprintf("ATTACH_PID=%d", p.Process.Pid), fmt.Sprintf("ATTACH_STEP=%d", step),
		"ATTACH_SETTINGS="+r.settings, "ATTACH_DIR="+r.dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.Split(strings.TrimSpace(string(out)), "\n"), false
	}
	require.Contains(t, err.Error(), "killed", "at step %d: %sThe process wrote: %s", step, &stderr, readFile(t, p.stderr))
	return nil, true
}

// kills returns how often a test kills heaplapse at each step.
func kills() int {
	if full() {
		return 20
	}
	return 1
}

// TestKilledAtEveryStep kills heaplapse at each step of attaching. The process must live on, its data
// must be right, and attaching again must work.
func TestKilledAtEveryStep(t *testing.T) {
	testutil.NoRace(t)
	for name, start := range map[string]func(t *testing.T) *process{
		"threads":            func(t *testing.T) *process { return run(t, compile(t, "busy.c"), "2", "leak") },
		"waits":              func(t *testing.T) *process { return run(t, compile(t, "waits.c")) },
		"epoll":              func(t *testing.T) *process { return run(t, compile(t, "waits.c"), "epoll") },
		"epoll, main thread": func(t *testing.T) *process { return run(t, compile(t, "waits.c"), "main") },
		"churn": func(t *testing.T) *process {
			return run(t, compile(t, "churn.c"), compile(t, "plugin.c", "-shared", "-fPIC"))
		},
		"python":          func(t *testing.T) *process { return run(t, testutil.Need(t, "python3"), "testdata/busy.py", "1") },
		"python, threads": func(t *testing.T) *process { return run(t, testutil.Need(t, "python3"), "testdata/busy.py", "4") },
	} {
		t.Run(name, func(t *testing.T) {
			first := start(t)
			steps, killed := attachChild(t, first, -1)
			require.False(t, killed)
			again, killed := attachChild(t, first, -1) // it loads no engine
			require.False(t, killed)
			assert.NotContains(t, again, "give engine")
			assert.Contains(t, first.end(t), "done\n")
			total := 0
			for range kills() {
				p := start(t)
				for step := range len(steps) {
					if _, killed := attachChild(t, p, step); killed {
						total++
					}
				}
				s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 16384, 0))
				sum, err := s.Stop()
				require.NoError(t, err)
				assert.Zero(t, sum.Left)
				assert.Contains(t, p.end(t), "done\n")
			}
			t.Logf("%d kills at %d steps: %s", total, len(steps), strings.Join(steps, ", "))
		})
	}
}

// TestEndsAlone checks that the engine ends the recording by itself after heaplapse was killed.
func TestEndsAlone(t *testing.T) {
	if !full() {
		t.Skip("it takes 20 s: set HEAPLAPSE_FULL=1")
	}
	p := run(t, compile(t, "busy.c"), "2", "leak")
	dir := t.TempDir()
	s := attachTo(t, p.Process.Pid, settings(dir, 4096, 0))
	close(s.stop) // no more beats
	_, err := s.control.await(40*time.Second, "stop", func(b *block) bool { return b.State == stateStopped })
	require.NoError(t, err)
	b, err := s.control.read()
	require.NoError(t, err)
	assert.EqualValues(t, EndedAlone, b.Ended)
	assert.Zero(t, b.Left)
	assert.NotEmpty(t, s.snapshots(t), "the last snapshot")
	s.lock.release()
	assert.Contains(t, p.end(t), "done\n")
}

// TestAttachesAgainLater attaches again after a time that is longer than the one after which the
// engine ends a recording by itself.
func TestAttachesAgainLater(t *testing.T) {
	if !full() {
		t.Skip("it takes 21 s: set HEAPLAPSE_FULL=1")
	}
	p := run(t, compile(t, "busy.c"), "2", "leak")
	_, err := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0)).Stop()
	require.NoError(t, err)
	time.Sleep(21 * time.Second)
	s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
	assert.NotZero(t, s.Functions)
	select {
	case <-s.Ended():
		assert.Fail(t, "the recording has ended by itself")
	case <-time.After(time.Second):
	}
	sum, err := s.Stop()
	require.NoError(t, err)
	assert.EqualValues(t, EndedByCommand, sum.Ended)
	assert.NotZero(t, sum.Restored)
	assert.Contains(t, p.end(t), "done\n")
}
