//go:build unix

package series_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/infile"
)

// TestPipesInADirectory: a scan neither waits for the writer of a pipe nor reads a device.
func TestPipesInADirectory(t *testing.T) {
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0003.heap": heap(2, 2)})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "p.0002.heap"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "p.0004.heap")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, manifest.Name), 0o600))
	for _, path := range []string{dir, filepath.Join(dir, "p")} {
		s := open(t, series.Options{}, path)
		require.Equal(t, []string{"p.0001.heap", "p.0003.heap"}, names(s))
		require.Len(t, s.Problems, 2)
		require.EqualError(t, s.Problems[0], filepath.Join(dir, "p.0002.heap")+": cannot be read: a pipe, not a regular file")
		require.EqualError(t, s.Problems[1], filepath.Join(dir, "p.0004.heap")+": cannot be read: a device, not a regular file")
		require.ErrorIs(t, s.Problems[0], infile.ErrNotRegular)
		require.False(t, s.Problems[0].Named)
		require.Equal(t, heapfile.WarnManifest, s.Warnings[0].Kind)
		require.Contains(t, s.Warnings[0].Msg, manifest.Name+": cannot be read: a pipe, not a regular file")
	}
}

// TestANamedPipe is read, and the caller is told what is waited for.
func TestANamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	waits := make(chan string, 2)
	go func() {
		<-waits
		_ = os.WriteFile(path, []byte(heap(7, 7)), 0)
	}()
	s := open(t, series.Options{Waiting: func(path string) { waits <- path }}, path)
	require.Equal(t, path, s.Heads[0].Path)
	require.Equal(t, int64(7), s.Heads[0].Total.InuseBytes)
	require.Empty(t, waits, "told once")
}

// TestCheckEndsTheSeries: the error of the check is that of the series, not a problem of one file.
func TestCheckEndsTheSeries(t *testing.T) {
	enough := errors.New("that is enough")
	dir := put(t, map[string]string{"p.0001.heap": heap(1, 1), "p.0002.heap": heap(2, 2)})
	_, err := series.Open([]string{dir}, series.Options{Check: func(int64) error { return enough }})
	require.ErrorIs(t, err, enough)
	require.EqualError(t, err, filepath.Join(dir, "p.0001.heap")+": read failed: that is enough")
	calls := 0
	s := open(t, series.Options{Workers: 1, Check: func(int64) error {
		if calls++; calls > 2 {
			return enough
		}
		return nil
	}}, dir)
	_, err = s.Read(0)
	require.ErrorIs(t, err, enough)
}
