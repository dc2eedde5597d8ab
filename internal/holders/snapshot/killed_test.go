//go:build linux && amd64

package snapshot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// guardName is the name by which the tests are the guard.
const guardName = "guard"

// TestMain is also the program that takes a snapshot and is killed: see takeAndDie.
func TestMain(m *testing.M) {
	if os.Args[0] == guardName {
		Watch(os.Stdin)
		return
	}
	if os.Getenv("SNAPSHOT_PID") != "" {
		takeAndDie()
	}
	var err error
	if programs, err = os.MkdirTemp("", "snapshot"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(status)
}

// takeAndDie takes a snapshot of a process. At a step it kills itself. Without that it writes the
// names of all steps.
func takeAndDie() {
	pid, _ := strconv.Atoi(os.Getenv("SNAPSHOT_PID"))
	last, _ := strconv.Atoi(os.Getenv("SNAPSHOT_STEP"))
	var steps []string
	step := func(name string) {
		if len(steps) == last {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		steps = append(steps, name)
	}
	o := Options{Step: step}
	if os.Getenv("SNAPSHOT_GUARD") != "" {
		o.Guard = &Guard{Args: []string{guardName}}
	}
	s, err := Take(pid, o)
	if err == nil {
		step("read")
		err = s.Close()
	}
	o.Guard.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(steps, "\n"))
	os.Exit(0)
}

// takeIn runs takeAndDie in a process of its own, and returns the names of its steps.
func takeIn(t *testing.T, h *host, step int, more ...string) (steps []string, killed bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("SNAPSHOT_PID=%d", h.Process.Pid), fmt.Sprintf("SNAPSHOT_STEP=%d", step))
	cmd.Env = append(cmd.Env, more...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.Split(strings.TrimSpace(string(out)), "\n"), false
	}
	if strings.Contains(stderr.String(), "take too long to stop") { // the machine is busy
		return takeIn(t, h, step, more...)
	}
	require.Contains(t, err.Error(), "killed", "step %d: %s%s", step, &stderr, &h.stderr)
	return nil, true
}

// TestKilledAtEveryStep kills heaplapse at each step. The copy must end, the process must live on, and the
// next snapshot must remove what is left.
func TestKilledAtEveryStep(t *testing.T) {
	testutil.NoRace(t)
	rounds := 1
	if testutil.Full() {
		rounds = 20
	}
	for _, kind := range []string{"childless", "children", "threads", "waits"} {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind)
			steps, killed := takeIn(t, h, -1)
			require.False(t, killed)
			total, zombies := 0, 0
			for range rounds {
				for step := range len(steps) {
					if _, killed := takeIn(t, h, step); killed {
						total++
					}
					if kind != "children" { // it has one of its own
						require.Eventually(t, func() bool { return allZombies(t, h) }, time.Minute, time.Millisecond, steps[step])
						zombies += len(children(t, h.Process.Pid))
					}
				}
			}
			s := take(t, h)
			require.NoError(t, s.Close())
			assert.Empty(t, findCopies(h.Process.Pid, "Z"))
			h.end(t)
			t.Logf("%d kills, %d zombies after a kill: %s", total, zombies, strings.Join(steps, ", "))
		})
	}
}

// TestGuard kills heaplapse at each step. The guard removes the copy, and ends.
func TestGuard(t *testing.T) {
	testutil.NoRace(t)
	const guarded = "SNAPSHOT_GUARD=1"
	kinds := []string{"threads"}
	if testutil.Full() {
		kinds = append(kinds, "childless", "children", "waits")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			h := start(t, kind)
			steps, killed := takeIn(t, h, -1, guarded)
			require.False(t, killed)
			kills := 0
			for step := range steps {
				if _, killed := takeIn(t, h, step, guarded); killed {
					kills++
				}
				require.Eventually(t, func() bool { return len(findCopies(h.Process.Pid, anyState)) == 0 && !hasGuard(t) },
					3*time.Minute, time.Millisecond, "killed at %s", steps[step])
			}
			assert.Positive(t, kills)
			h.end(t)
		})
	}
}

// hasGuard reports whether there is a guard.
func hasGuard(t *testing.T) bool {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	return slices.ContainsFunc(names, func(name string) bool {
		text, _ := os.ReadFile(name)
		return string(text) == guardName+"\x00"
	})
}

func allZombies(t *testing.T, h *host) bool {
	for _, c := range children(t, h.Process.Pid) {
		if !strings.HasSuffix(c, " Z") {
			return false
		}
	}
	return true
}
