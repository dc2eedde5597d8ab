package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestGrowthOfARecordingThatRuns: a remark says that there will be more snapshots.
func TestGrowthOfARecordingThatRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "heap")
	require.NoError(t, os.CopyFS(dir, os.DirFS(testutil.Data(t, "leaky"))))
	_, stderr, code := invoke(t, "growth", dir)
	require.Equal(t, exitOK, code, stderr)
	require.NotContains(t, stderr, "is still being recorded")

	w, err := manifest.Create(dir)
	require.NoError(t, err)
	defer w.Close()
	_, stderr, code = invoke(t, "growth", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stderr, "heaplapse: "+dir+" is still being recorded: the verdict is on the snapshots so far\n")
}
