package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichTerminalsTakeHyperlinks(t *testing.T) {
	for _, c := range []struct {
		want bool
		env  map[string]string
	}{
		{true, map[string]string{"TERM": "xterm-256color"}},
		{true, map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7600"}},
		{true, map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}},
		{false, map[string]string{"TERM": "screen-256color"}},
		{false, map[string]string{"TERM": "xterm", "VTE_VERSION": "5000"}},
		{false, map[string]string{"TERM": "xterm", "INSIDE_EMACS": "29.1,comint"}},
		{false, map[string]string{"TERM": "linux"}},
		{false, map[string]string{"TERM": "dumb"}},
		{false, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}},
		{false, map[string]string{}},
	} {
		getenv := func(name string) string { return c.env[name] }
		require.Equal(t, c.want, styled(getenv) && takesOSC8(getenv), "%v", c.env)
	}
}

func TestOnlyATerminalHasStyles(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	getenv := func(string) string { return "xterm" }
	require.False(t, Colors(file, getenv))
	require.False(t, Hyperlinks(file, getenv))
}

// TestSourceURL: a name may be hostile; the URL has no control characters.
func TestSourceURL(t *testing.T) {
	dir, host := t.TempDir(), ""
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	hostile := filepath.Join(dir, "a b\x1b]8;;#?%.cc")
	require.NoError(t, os.WriteFile(hostile, nil, 0o600))
	of := SourceURL()
	require.Equal(t, "file://"+host+filepath.ToSlash(dir)+"/a%20b%1B%5D8;;%23%3F%25.cc#7", of(hostile, 7))
	require.Empty(t, of(filepath.Join(dir, "missing.cc"), 7))
	require.Empty(t, of(dir, 7))
}
