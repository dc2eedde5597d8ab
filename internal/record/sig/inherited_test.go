//go:build linux

package sig

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestProgramInheritsIgnoredSignals starts heaplapse with some signals ignored, and checks that the
// recorded program ignores the same signals. It builds heaplapse, because a test binary has no
// symbol table.
func TestProgramInheritsIgnoredSignals(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "grep"} {
		testutil.Need(t, tool)
	}
	exe := filepath.Join(t.TempDir(), "heaplapse")
	build := exec.Command("go", "build", "-o", exe, "./cmd/heaplapse")
	build.Dir = testutil.Root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if out, err := exec.Command(exe, "record", "--dry-run", "--", "true").CombinedOutput(); err != nil {
		t.Logf("%s", out)
		testutil.Missing(t, "a profiler's library")
	}
	for _, trap := range []string{"''", "'' PIPE", "'' HUP INT TERM USR1 XFSZ TSTP 40"} {
		run := func(prefix string) string {
			script := "trap " + trap + "; exec " + prefix + " grep -E '^Sig(Ign|Blk)' /proc/self/status"
			out, err := exec.Command("bash", "-c", script).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		assert.Equal(t, run(""), run(exe+" record -q -o "+filepath.Join(t.TempDir(), "out")+" --"), trap)
		assert.Equal(t, run(""), run(exe+" record -q -o /proc/x/out -- 2>/dev/null"), trap+", not recorded")
	}
	script := "trap '' USR2; exec " + exe + " record --engine tcmalloc --signal USR2 -- true"
	out, err = exec.Command("bash", "-c", script).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "the signal is ignored, and the program would inherit that")
}
