package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestFollowerPolls: without notifications it finds new files, changes and a removed directory.
func TestFollowerPolls(t *testing.T) {
	dir := t.TempDir()
	f := &follower{path: dir, settle: time.Millisecond, poll: time.Millisecond}
	appendTo(t, filepath.Join(dir, "p.0001.heap"), "x")
	idle := func() {}
	first, ok := f.next(t.Context(), "", idle)
	require.True(t, ok)
	require.Contains(t, first, `p.0001.heap" 1 `)
	appendTo(t, filepath.Join(dir, "unrelated"), "x")
	require.Equal(t, first, f.state())
	appendTo(t, filepath.Join(dir, "p.0001.heap"), "y")
	second, ok := f.next(t.Context(), first, idle)
	require.True(t, ok)
	require.Contains(t, second, `p.0001.heap" 2 `)
	require.NoError(t, os.RemoveAll(dir))
	none, ok := f.next(t.Context(), second, idle)
	require.True(t, ok)
	require.Empty(t, none)
}
