//go:build linux && amd64

package attach

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// full reports whether the long tests run.
func full() bool { return os.Getenv("HEAPLAPSE_FULL") != "" }

// cycles returns the number of times that a test attaches and detaches.
func cycles() int {
	if full() {
		return 1000
	}
	return 20
}

// TestCycles attaches to programs that check their own data, and detaches, many times. Each must end
// as if nothing had been.
func TestCycles(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *process{
		"threads": func(t *testing.T) *process { return run(t, compile(t, "busy.c"), "4", "leak") },
		"waits":   func(t *testing.T) *process { return run(t, compile(t, "waits.c")) },
		"churn": func(t *testing.T) *process {
			return run(t, compile(t, "churn.c"), compile(t, "plugin.c", "-shared", "-fPIC"))
		},
		"python":          func(t *testing.T) *process { return run(t, testutil.Need(t, "python3"), "testdata/busy.py", "1") },
		"python, threads": func(t *testing.T) *process { return run(t, testutil.Need(t, "python3"), "testdata/busy.py", "4") },
		"node": func(t *testing.T) *process {
			if !full() {
				t.Skip("set HEAPLAPSE_FULL=1: it needs node")
			}
			return run(t, testutil.Need(t, "node"), "testdata/busy.js")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			var pauses []time.Duration
			var looks int
			for range cycles() {
				s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 16384, 0))
				pauses = append(pauses, s.Pause)
				looks += s.Looks
				time.Sleep(5 * time.Millisecond)
				sum, err := s.Stop()
				require.NoError(t, err)
				assert.Zero(t, sum.Left)
				assert.False(t, sum.PythonLeft)
			}
			slices.Sort(pauses)
			t.Logf("%d cycles, pause median %s, longest %s, %d looks; %s", len(pauses), pauses[len(pauses)/2],
				pauses[len(pauses)-1], looks, p.end(t))
		})
	}
}
