//go:build linux

package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWatcherReportsClosedFiles also those that are renamed, and each once.
func TestWatcherReportsClosedFiles(t *testing.T) {
	dir := t.TempDir()
	w, err := Watch(dir)
	require.NoError(t, err)
	defer w.Close()
	f, err := os.Create(filepath.Join(dir, "written"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "renamed.tmp"), nil, 0o600))
	require.Equal(t, "renamed.tmp", <-w.names, "the other file is still open")
	require.NoError(t, f.Close())
	require.Equal(t, "written", <-w.names)
	require.NoError(t, os.Rename(filepath.Join(dir, "renamed.tmp"), filepath.Join(dir, "renamed")))
	require.Equal(t, "renamed", <-w.names)
}

// TestWatcherEnds also when nobody receives the names.
func TestWatcherEnds(t *testing.T) {
	dir := t.TempDir()
	w, err := Watch(dir)
	require.NoError(t, err)
	for i := range 2 * cap(w.names) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
	}
	w.Close()
	_, more := <-w.names
	require.False(t, more, "the goroutine of the watcher has ended")
	(*Watcher)(nil).Close()
}
