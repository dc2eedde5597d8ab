//go:build linux && amd64

package attach

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestSetuid: when a program gives up its rights, no thread of the engine keeps them, and the recording
// goes on.
func TestSetuid(t *testing.T) {
	testutil.Superuser(t)
	for _, how := range []string{"imported", "dlsym"} {
		t.Run(how, func(t *testing.T) {
			p := run(t, compile(t, "rights.c", "-ldl"), how)
			s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 20))
			require.Eventually(t, func() bool { return len(s.snapshots(t)) > 0 }, 30*time.Second, 20*time.Millisecond)
			require.NoError(t, p.Process.Signal(unix.SIGUSR1))
			var threads []string
			for {
				line, err := p.out.ReadString('\n')
				require.NoError(t, err, readFile(t, p.stderr))
				if line == "dropped\n" {
					break
				}
				threads = append(threads, strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")))
			}
			require.NotEmpty(t, threads)
			for _, thread := range threads {
				assert.Contains(t, thread, "uid 65534 65534 65534 65534 gid 65534 65534 65534 65534 groups", thread)
			}
			before := len(s.snapshots(t))
			assert.Eventually(t, func() bool { return len(s.snapshots(t)) > before }, 30*time.Second, 20*time.Millisecond)
			sum, err := s.Stop()
			require.NoError(t, err)
			assert.Zero(t, sum.Left)
			assert.Contains(t, p.end(t), "done\n")
		})
	}
}
