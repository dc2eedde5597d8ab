//go:build linux && amd64

package attach

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// allocations are the numbers of calls of malloc, calloc and realloc.
type allocations [3]uint64

func (a allocations) minus(b allocations) (d allocations) {
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func (a allocations) sum() uint64 { return a[0] + a[1] + a[2] }

// TestShareOfCalls compares the calls that reach the engine, which the processor counts, with those
// that a preloaded library counts.
func TestShareOfCalls(t *testing.T) {
	library := compile(t, "counting.c", "-shared", "-fPIC")
	counts := filepath.Join(t.TempDir(), "counts")
	require.NoError(t, os.WriteFile(counts, make([]byte, 24), 0o600))
	env := append(os.Environ(), "LD_PRELOAD="+library, "COUNTING="+counts)
	counted := func(program string, args ...string) func(t *testing.T) int {
		return func(t *testing.T) int {
			return runWith(t, program, func(p *process) { p.Env = env }, args...).Process.Pid
		}
	}
	programs := map[string]func(t *testing.T) int{
		"threads": counted(compile(t, "busy.c", "-fno-builtin"), "4", "leak"),
		"python":  counted(testutil.Need(t, "python3"), "testdata/large.py"),
	}
	if full() {
		programs["node"] = counted(testutil.Need(t, "node"), "testdata/busy.js")
		programs["redis"] = func(t *testing.T) int {
			server, client := startRedis(t, func(c *exec.Cmd) { c.Env = env })
			stop := make(chan struct{})
			asked := make(chan int)
			go func() { asked <- ask(t, client, stop) }()
			t.Cleanup(func() { close(stop); <-asked })
			return server.Process.Pid
		}
	}
	for name, start := range programs {
		t.Run(name, func(t *testing.T) {
			pid := start(t)
			s := attachTo(t, pid, settings(t.TempDir(), 131072, 0))
			defer func() {
				_, err := s.Stop()
				assert.NoError(t, err)
			}()
			c := countHooks(t, s.Session)
			defer c.close()
			before := lookAtCounts(t, c, counts)
			after := before
			const enough, tries = 20000, 30
			for range tries { // on a busy machine it takes longer
				time.Sleep(2 * time.Second)
				if after = lookAtCounts(t, c, counts); after.all.minus(before.all).sum() > enough {
					break
				}
			}
			all := after.all.minus(before.all)
			require.Greater(t, all.sum(), uint64(enough))
			least, most := after.before.minus(before.after).sum(), after.after.minus(before.before).sum()
			share := func(seen uint64) float64 { return float64(seen) / float64(all.sum()) }
			t.Logf("calls of malloc, calloc and realloc: %d; seen at least %.4f %%, at most %.4f %%",
				all, 100*share(least), 100*share(most))
			assert.GreaterOrEqual(t, share(most), 0.999)
		})
	}
}

// look is what has been counted until a moment: all by the library, and those that have reached the
// engine shortly before and shortly after.
type look struct{ all, before, after allocations }

func lookAtCounts(t *testing.T, c counters, path string) (l look) {
	t.Helper()
	read := func() (a allocations) {
		for i, f := range c {
			n, err := f.read()
			require.NoError(t, err)
			a[i%len(a)] += n
		}
		return a
	}
	l.before = read()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = binary.Decode(b, binary.LittleEndian, &l.all)
	require.NoError(t, err)
	l.after = read()
	return l
}

// countHooks counts the calls of the engine's malloc, calloc and realloc in each thread.
func countHooks(t *testing.T, s *Session) (c counters) {
	t.Helper()
	b, err := s.control.read()
	require.NoError(t, err)
	for _, th := range target.Threads(s.pid) {
		if th.Name == fileName {
			continue // it is not recorded
		}
		if err := c.open(th.ID, b.MallocHook, b.CallocHook, b.ReallocHook); err != nil {
			c.close()
			t.Skipf("this machine does not count breakpoints: %v", err)
		}
	}
	return c
}
