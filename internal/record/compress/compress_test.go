//go:build linux

package compress_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/compress"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const text = "heap profile:      1:       10 [     1:       10] @ heapprofile\n"

func put(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// unpacked returns the content of a compressed file, whose header must have the time of the file.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	require.Equal(t, info.ModTime().Unix(), z.ModTime.Unix())
	content, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(content)
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestFile: the copy has the content, the permissions, the time and the owner of the file, which stays.
func TestFile(t *testing.T) {
	path := put(t, "p.0001.heap", strings.Repeat(text, 1000))
	when := time.Unix(1_700_000_000, 123_456_789)
	require.NoError(t, os.Chtimes(path, when, when))
	require.NoError(t, os.Chmod(path, 0o640))
	owner := uint32(os.Geteuid())
	if owner == 0 {
		owner = testutil.Stranger
		require.NoError(t, os.Chown(path, testutil.Stranger, testutil.Stranger))
	}
	size, err := compress.File(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(text, 1000), unpacked(t, path+compress.Suffix))
	info, err := os.Stat(path + compress.Suffix)
	require.NoError(t, err)
	require.Equal(t, info.Size(), size)
	require.Less(t, size, int64(10_000))
	require.Equal(t, os.FileMode(0o640), info.Mode())
	require.True(t, when.Equal(info.ModTime()), info.ModTime())
	require.Equal(t, owner, info.Sys().(*syscall.Stat_t).Uid)
	require.Equal(t, []string{"p.0001.heap", "p.0001.heap.gz"}, names(t, filepath.Dir(path)))
}

// TestNoFile: a link, a pipe and a canceled copy leave nothing.
func TestNoFile(t *testing.T) {
	path := put(t, "p.0001.heap", text)
	dir := filepath.Dir(path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compress.File(ctx, path)
	require.ErrorIs(t, err, context.Canceled)

	link, pipe := filepath.Join(dir, "p.0002.heap"), filepath.Join(dir, "p.0003.heap")
	require.NoError(t, os.Symlink(path, link))
	_, err = compress.File(t.Context(), link)
	require.ErrorIs(t, err, syscall.ELOOP)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = compress.File(t.Context(), pipe)
	require.ErrorContains(t, err, "not a regular file")
	_, err = compress.File(t.Context(), filepath.Join(dir, "p.0004.heap"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, []string{"p.0001.heap", "p.0002.heap", "p.0003.heap"}, names(t, dir))
}

// TestPlantedCopy: a link that another user made at the name of the copy is replaced, not followed.
func TestPlantedCopy(t *testing.T) {
	path := put(t, "p.0001.heap", text)
	target := put(t, "target", "untouched")
	require.NoError(t, os.Symlink(target, path+compress.Suffix))
	_, err := compress.File(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, text, unpacked(t, path+compress.Suffix))
	content, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "untouched", string(content))
}

// TestBackground: each file has one result, and Stop ends also the rest after a file.
func TestBackground(t *testing.T) {
	b := compress.Start()
	path := put(t, "p.0001.heap", text)
	b.Add(path)
	r := <-b.Results()
	require.NoError(t, r.Err)
	require.Equal(t, text, unpacked(t, path+compress.Suffix))
	b.Add(filepath.Join(filepath.Dir(path), "gone.heap"))
	require.ErrorIs(t, (<-b.Results()).Err, os.ErrNotExist)

	large := put(t, "p.0002.heap", string(bytes.Repeat([]byte(text), 1_000_000)))
	b.Add(large)
	b.Stop()
	select {
	case r := <-b.Results():
		require.ErrorIs(t, r.Err, context.Canceled)
	default: // it had not begun
	}
	require.NoFileExists(t, large+compress.Suffix)
	b.Stop()
}
