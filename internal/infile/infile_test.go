//go:build unix

package infile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/infile"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{file, link} {
		f, info, err := infile.Open(path)
		require.NoError(t, err)
		require.Equal(t, int64(4), info.Size())
		require.NoError(t, f.Close())
	}
	for path, kind := range map[string]string{pipe: "a pipe", dir: "a directory", os.DevNull: "a device"} {
		_, _, err := infile.Open(path)
		require.ErrorIs(t, err, infile.ErrNotRegular)
		require.EqualError(t, err, "open "+path+": "+kind+", not a regular file")
	}
	_, _, err := infile.Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadSmall(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "list")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", infile.MaxSmall)), 0o600))
	for _, read := range []func(string) ([]byte, error){infile.ReadSmall, infile.ReadSmallRegular} {
		text, err := read(path)
		require.NoError(t, err)
		require.Len(t, text, infile.MaxSmall)
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", infile.MaxSmall+1)), 0o600))
	for _, read := range []func(string) ([]byte, error){infile.ReadSmall, infile.ReadSmallRegular} {
		_, err := read(path)
		require.EqualError(t, err, path+": more than 1 MiB: is it the right file?")
	}
}

// TestEndlessFiles: a link to /dev/zero has no end. A pipe that the user names is read, one that is
// found is not.
func TestEndlessFiles(t *testing.T) {
	dir := t.TempDir()
	zero := filepath.Join(dir, "zero")
	require.NoError(t, os.Symlink("/dev/zero", zero))
	_, err := infile.ReadSmall(zero)
	require.ErrorContains(t, err, "more than 1 MiB")
	_, err = infile.ReadSmallRegular(zero)
	require.ErrorIs(t, err, infile.ErrNotRegular)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = infile.ReadSmallRegular(pipe)
	require.ErrorIs(t, err, infile.ErrNotRegular)
	go func() { _ = os.WriteFile(pipe, []byte("leak:x\n"), 0) }()
	text, err := infile.ReadSmall(pipe)
	require.NoError(t, err)
	require.Equal(t, "leak:x\n", string(text))
}

// TestOpenOwned: in /tmp, other users can make files and links of any name.
func TestOpenOwned(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	f, info, err := infile.OpenOwned(file, os.Geteuid())
	require.NoError(t, err)
	require.Equal(t, int64(4), info.Size())
	require.NoError(t, f.Close())
	user, known := infile.Owner(info)
	require.True(t, known)
	require.Equal(t, os.Geteuid(), user)

	_, _, err = infile.OpenOwned(link, os.Geteuid())
	require.EqualError(t, err, "open "+link+": is a symbolic link")
	_, _, err = infile.OpenOwned(pipe, os.Geteuid())
	require.ErrorIs(t, err, infile.ErrNotRegular)
	_, _, err = infile.OpenOwned(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	if os.Geteuid() != 0 {
		_, _, err = infile.OpenOwned(file)
		require.ErrorContains(t, err, "belongs to another user")
		return
	}
	require.NoError(t, os.Chown(file, 54321, 0))
	_, _, err = infile.OpenOwned(file, 0, 12345)
	require.EqualError(t, err, "open "+file+": belongs to another user (54321)")
	f, _, err = infile.OpenOwned(file, 12345, 54321)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
