package baseline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

var today = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func save(t *testing.T, dir string, day int, build string) string {
	t.Helper()
	r := run(1)
	r.Meta.Recorded, r.Meta.BuildID = time.Date(2026, 2, day, 0, 0, 0, 0, time.UTC), build
	path, err := baseline.Save(dir, r, today)
	require.NoError(t, err)
	return path
}

// TestFileNames: names sort by time, differ between runs of one second, and stay in the directory.
func TestFileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "baselines")
	a, b := save(t, dir, 3, "ab12cd34ef567890aa"), save(t, dir, 3, "ab12cd34ef567890bb")
	require.Equal(t, "20260203T000000Z-ab12cd34ef56", filepath.Base(a)[:29])
	require.NotEqual(t, a, b, "the same second and the same first digits")
	require.Equal(t, a, save(t, dir, 3, "ab12cd34ef567890aa"), "the same run is saved once")
	hostile := save(t, dir, 4, "../../etc")
	require.Equal(t, dir, filepath.Dir(hostile))
	require.Contains(t, hostile, "-nobuild-")
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 3, "nothing but the files is left")
}

// TestRunsWithoutAClock are ordered by the time at which they were saved.
func TestRunsWithoutAClock(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for day := range 3 {
		r := run(1)
		r.Meta.Recorded, r.Meta.Span = time.Time{}, 0
		path, err := baseline.Save(dir, r, today.AddDate(0, 0, -day))
		require.NoError(t, err)
		require.True(t, r.Meta.Saved.IsZero(), "Save does not change the run")
		paths = append(paths, path)
	}
	p, err := baseline.Open(dir)
	require.NoError(t, err)
	require.Equal(t, paths[0], p.Entries[2].Path)
	require.Equal(t, paths[2], p.Old(2)[0].Path)
	require.True(t, p.Entries[2].Run.Meta.Recorded.IsZero())
}

// TestPrune keeps the last runs, the reference run, and files that cannot be read.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for day := 1; day <= 6; day++ {
		paths = append(paths, save(t, dir, day, "aa"))
	}
	require.NoError(t, baseline.Pin(dir, paths[1]))
	broken := filepath.Join(dir, "00000000-broken"+baseline.Suffix)
	require.NoError(t, os.WriteFile(broken, []byte("x"), 0o600))
	p, err := baseline.Open(dir)
	require.NoError(t, err)
	require.Len(t, p.Problems, 1)
	require.Equal(t, baseline.NameOf(paths[1]), p.Reference().Run.Meta.Name)
	removed, err := p.Prune(p.Old(2))
	require.NoError(t, err)
	require.Equal(t, []string{paths[0], paths[2], paths[3]}, removed)
	require.FileExists(t, broken)

	p, err = baseline.Open(dir)
	require.NoError(t, err)
	require.Len(t, p.Entries, 3)
	require.Empty(t, p.Old(2))
}

// TestMissingReference: a reference run that does not exist is an error of Pin, and a problem of a
// set.
func TestMissingReference(t *testing.T) {
	dir := t.TempDir()
	path := save(t, dir, 1, "aa")
	err := baseline.Pin(dir, "nosuch")
	require.ErrorIs(t, err, baseline.ErrNotFound)
	require.EqualError(t, err, dir+": no such baseline: nosuch")
	require.NoError(t, baseline.Pin(dir, baseline.NameOf(path)))
	require.NoError(t, os.Remove(path))
	p, err := baseline.Open(dir)
	require.NoError(t, err)
	require.ErrorContains(t, p.Problems[0], "is missing or cannot be read")
}

// TestConcurrentSaves: a reader sees whole files only while others save and prune.
func TestConcurrentSaves(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1, "aa")
	done := make(chan error)
	for saver := range 3 {
		go func() {
			var err error
			for i := range 6 {
				r := run(10)
				r.Meta.Recorded, r.Meta.BuildID = time.Date(2026, 3, 1, 0, saver, i, 0, time.UTC), fmt.Sprintf("%02x", saver)
				if _, failed := baseline.Save(dir, r, today); failed != nil {
					err = failed
				}
				if p, failed := baseline.Open(dir); failed == nil && saver == 0 {
					if _, failed := p.Prune(p.Old(5)); failed != nil {
						err = failed
					}
				}
			}
			done <- err
		}()
	}
	for running := 3; running > 0; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running--
		default:
		}
		p, err := baseline.Open(dir)
		require.NoError(t, err)
		require.Empty(t, p.Problems)
		require.NotEmpty(t, p.Entries)
	}
}
