package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// pythons returns the interpreters of the machine by their versions, like 3.11: the one of PATH, and
// those of pyenv.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	require.NoError(t, err)
	versions := map[string]string{}
	for _, path := range append(paths, python(t)) {
		out, err := exec.Command(path, "-c", `import sys; print("%d.%d" % sys.version_info[:2], sys.version_info >= (3, 8))`).Output()
		require.NoError(t, err, path)
		if version, supported, _ := strings.Cut(strings.TrimSpace(string(out)), " "); supported == "True" {
			versions[version] = path
		}
	}
	return versions
}

// TestAttachPythonVersions attaches to a service in mid-run, by each version of Python: the site that
// gains most has the right function and line, and with HEAPLAPSE_FULL=1 the rate is compared with
// that of the program. (On a busy machine, the snapshots are uneven.)
func TestAttachPythonVersions(t *testing.T) {
	script := program(t, "service.py")
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(text), "# leak")
	require.True(t, found)
	line := 1 + strings.Count(before, "\n")
	for version, interpreter := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := runPlain(t, interpreter, script)
			r := p.attachTo(t, "--sample-period", "16KiB")
			r.more(t, 30)
			r.kill(t, syscall.SIGINT)
			assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
			p.end(t)
			var rate float64
			_, err := fmt.Sscanf(p.stdout, "ready\n%f", &rate)
			require.NoError(t, err, p.stdout)

			got := grown(t, r.dir, "--all")
			require.NotEmpty(t, got.Sites)
			blame := got.Sites[0].Blame
			assert.Equal(t, "handle", blame.Function)
			assert.Equal(t, script, blame.File)
			assert.Equal(t, line, blame.Line)
			require.NotNil(t, got.Sites[0].BytesPerHour)
			measured := *got.Sites[0].BytesPerHour / 3600
			t.Logf("%s: %.0f bytes per second, %.0f measured: %.3f", version, rate, measured, measured/rate)
			if testutil.Full() {
				assert.InEpsilon(t, rate, measured, 0.15)
			}
		})
	}
}
