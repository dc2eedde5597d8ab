package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestAssetsAreUpToDate builds web/ again if npm and its registry are available.
func TestAssetsAreUpToDate(t *testing.T) {
	testutil.Optional(t, "npm")
	work, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(work, "src"), os.DirFS("web/src")))
	for _, f := range []string{"package.json", "package-lock.json", "build.mjs"} {
		content, err := os.ReadFile(filepath.Join("web", f))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(work, f), content, 0o600))
	}
	npm := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = work
		return cmd.CombinedOutput()
	}
	if log, err := npm("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"); err != nil {
		t.Skipf("npm ci: %v: no registry, so the assets cannot be built: %s", err, log)
	}
	log, err := npm("node", "build.mjs", out)
	require.NoError(t, err, "%s", log)
	for _, f := range []string{"page.js", "page.css", "LICENSES.txt"} {
		want, err := os.ReadFile(filepath.Join(out, f))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("assets", f))
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "internal/report/page/assets/%s is not built from the present web/: run make assets and commit it", f)
	}
}

// TestTheScriptNeedsNoInnerHTML: names may be hostile, so our sources never parse text as HTML.
func TestTheScriptNeedsNoInnerHTML(t *testing.T) {
	sources, err := filepath.Glob("web/src/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, f := range sources {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", ".html(", "new Function"} {
			require.NotContains(t, string(text), word, f)
		}
	}
	require.NotContains(t, script, "</script", "it would end the script element")
	require.NotContains(t, strings.ToLower(style), "url(", "a style that loads something")
}

// TestTheScriptRoundsNoChance: Go words a chance, on the page as in the other output.
func TestTheScriptRoundsNoChance(t *testing.T) {
	require.NotContains(t, script, ".confidence")
	require.Contains(t, script, ".verdict??")
}
