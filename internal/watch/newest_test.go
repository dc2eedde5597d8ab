package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// record makes a recording that started at a minute of an hour.
func record(t *testing.T, dir string, minute int) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	appendTo(t, filepath.Join(dir, manifest.Name), fmt.Sprintf(
		"{\"schema\":%q}\n{\"recording\":{\"started\":\"2026-01-02T03:%02d:00Z\",\"command\":[\"server\"]}}\n", manifest.Schema, minute))
}

// TestNewest: the start of a recording counts, not its name and not the time of its last write.
func TestNewest(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, dir, newest(dir))
	require.Equal(t, filepath.Join(dir, "none"), newest(filepath.Join(dir, "none")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "unrelated"), 0o700))
	require.Equal(t, dir, newest(dir))
	record(t, filepath.Join(dir, "10"), 20)
	record(t, filepath.Join(dir, "9"), 10)
	require.Equal(t, filepath.Join(dir, "10"), newest(dir))
	appendTo(t, filepath.Join(dir, "p.0001.heap"), "x")
	require.Equal(t, dir, newest(dir), "it has snapshots itself")
}
