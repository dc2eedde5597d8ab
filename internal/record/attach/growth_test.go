//go:build linux && amd64

package attach

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// usage is what a process uses.
type usage struct {
	Resident                     int // KiB
	Mappings, Threads, OpenFiles int
}

func usageOf(t *testing.T, pid int) (u usage) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // /proc/PID/status is not exact
	require.NoError(t, err)
	_, line, found := bytes.Cut(b, []byte("\nRss:"))
	require.True(t, found, "%s", b)
	_, err = fmt.Sscan(string(line), &u.Resident)
	require.NoError(t, err)
	mappings, err := target.Mappings(pid)
	require.NoError(t, err)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	u.Mappings, u.Threads, u.OpenFiles = len(mappings), len(target.Threads(pid)), len(files)
	return u
}

// TestNothingAccumulates attaches to programs that need no more memory with time, and compares what
// they use after the first times with what they use in the end.
func TestNothingAccumulates(t *testing.T) {
	const first = 5
	times := 15
	if full() {
		times = 100
	}
	for name, start := range map[string]func() *process{
		"waits":  func() *process { return run(t, compile(t, "waits.c")) },
		"python": func() *process { return run(t, testutil.Need(t, "python3"), "testdata/busy.py", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			p := start()
			var before, after usage
			for i := range times {
				s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
				_, err := s.Stop()
				require.NoError(t, err)
				if i == first-1 {
					before = usageOf(t, p.Process.Pid)
				}
			}
			after = usageOf(t, p.Process.Pid)
			t.Logf("after %d times %+v, after %d %+v", first, before, times, after)
			const tolerance = 512 // KiB: less than 6 KiB for each of 100 times
			assert.LessOrEqual(t, after.Resident, before.Resident+tolerance)
			after.Resident = before.Resident
			assert.Equal(t, before, after)
			assert.Contains(t, p.end(t), "done\n")
		})
	}
}
