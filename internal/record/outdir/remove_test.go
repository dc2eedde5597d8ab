package outdir_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/outdir"
)

// ours are the files of a recording whose recorder was killed, and theirs those of the user.
var (
	ours = []string{
		"p_12.0001.heap.gz", "p_12.0002.heap", "p_12.0003.heap", "p_12.0.heap.tmp", "p.12.events.jsonl", "p.12.1.frames.jsonl", "p.12.holders.jsonl",
		"perf-12.map", "vdso.so",
	}
	theirs = []string{
		"notes.txt", "p_12.heap", "p_13.0001.heap", "q.0001.heap", "p.13.events.jsonl", "perf-13.map", "p_12.0001.heap.bak",
		"heaplapse.manifest.jsonl.old",
	}
)

// recording makes a directory with a recording and files of the user.
func recording(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w, err := manifest.Create(dir)
	require.NoError(t, err)
	for _, name := range []string{"p_12.0001.heap", "p_12.0002.heap"} {
		require.NoError(t, w.Snapshot(manifest.Snapshot{File: name, PID: 12, Time: time.Now()}))
	}
	for _, name := range []string{"perf-12.map", "vdso.so", "../outside"} {
		require.NoError(t, w.File(manifest.File{File: name, Kind: "perf-map"}))
	}
	require.NoError(t, w.Close())
	for _, name := range slices.Concat(ours, theirs, []string{"../outside"}) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	return dir
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRemoveLeavesOtherFiles(t *testing.T) {
	dir := recording(t)
	require.NoError(t, outdir.Remove(dir))
	require.ElementsMatch(t, theirs, list(t, dir))
	require.FileExists(t, filepath.Join(dir, "../outside"))
	require.False(t, outdir.HasRecording(dir))
}

// TestRemoveIsWhole: after an error, every file has its name.
func TestRemoveIsWhole(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"a link": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "vdso.so")))
			require.NoError(t, os.Symlink("notes.txt", filepath.Join(dir, "vdso.so")))
		},
		"a rename that fails": func(t *testing.T, dir string) { // of the third file
			require.NoError(t, os.MkdirAll(filepath.Join(dir, ".removed.heaplapse-tmp2", "x"), 0o700))
		},
		"a manifest that is not one": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte("{}\n"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := recording(t)
			spoil(t, dir)
			before := list(t, dir)
			require.Error(t, outdir.Remove(dir))
			require.Equal(t, before, list(t, dir))
		})
	}
}

// TestRemoveLeavesARecordingUnderWay: its recorder holds the manifest open.
func TestRemoveLeavesARecordingUnderWay(t *testing.T) {
	dir := t.TempDir()
	w, err := manifest.Create(dir)
	require.NoError(t, err)
	require.ErrorContains(t, outdir.Remove(dir), "another recorder is writing to it")
	require.NoError(t, w.Close())
	require.NoError(t, outdir.Remove(dir))
	require.Empty(t, list(t, dir))
}

func TestPattern(t *testing.T) {
	dir := t.TempDir()
	p := outdir.Pattern{
		Text: filepath.Join(dir, "%t-%p-%n-%%n-%x%"), PID: 42, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	require.Equal(t, "20260102-030405-42-7-%n-%x%", filepath.Base(p.Name(7)))
	require.True(t, p.Numbered())
	require.False(t, outdir.Pattern{Text: "%%n"}.Numbered())
	require.NoError(t, os.Mkdir(p.Name(1), 0o700))
	require.Equal(t, p.Name(2), p.Free())
}
