//go:build linux && amd64

package attach

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCoverage counts the calls that the engine sees in a program that calls malloc, and in one that
// makes half of its calls through a pointer that it had before.
func TestCoverage(t *testing.T) {
	for source, want := range map[string]float64{"busy.c": 1, "pointer.c": 0.5} {
		t.Run(source, func(t *testing.T) {
			p := run(t, compile(t, source, "-fno-builtin"))
			s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
			var c Coverage
			for c.All < 100 { // on a busy machine it takes longer
				more, err := s.Coverage(200 * time.Millisecond)
				if err != nil {
					t.Skipf("this machine does not count breakpoints: %v", err)
				}
				c.Seen, c.All = c.Seen+more.Seen, c.All+more.All
			}
			t.Logf("%+v", c)
			assert.InDelta(t, want, float64(c.Seen)/float64(c.All), 0.05)
			_, err := s.Stop()
			require.NoError(t, err)
			assert.Equal(t, "done\n", p.end(t))
		})
	}
}
