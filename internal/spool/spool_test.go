package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := New()
	require.NoError(t, err)
	defer s.Close()
	holes := make([]byte, 5*align+100)
	holes[3*align+7] = 1
	content := map[string][]byte{
		"a/x": []byte("first"), "empty": {}, "holes": holes, "zeros": make([]byte, align), "b": []byte("last"),
	}
	for _, name := range []string{"a/x", "empty", "holes", "zeros", "b"} {
		require.NoError(t, s.Add(name, time.Unix(4711, 0), iotest.HalfReader(bytes.NewReader(content[name]))))
	}
	for name, want := range content {
		f, err := s.Open(name)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
		info, err := f.Stat()
		require.NoError(t, err)
		require.Equal(t, int64(len(want)), info.Size())
		require.Equal(t, time.Unix(4711, 0), info.ModTime())
		require.True(t, info.Mode().IsRegular())
		whole, begin := f.(*File).Part()
		require.Zero(t, begin%align)
		part := make([]byte, len(want))
		_, err = whole.ReadAt(part, begin)
		require.NoError(t, err, name)
		require.Equal(t, want, part, name)
		require.NoError(t, f.Close())
	}
	_, err = s.Open("a")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestNothingIsNamed: the directory is empty all the time.
func TestNothingIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, create := range []func(string) (*os.File, error){unnamed, unlinked} {
		f, err := create(dir)
		require.NoError(t, err)
		_, err = f.WriteString("text")
		require.NoError(t, err)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, f.Close())
	}
}

func TestErrors(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := New()
	require.NoError(t, err)
	s.Limit = 10
	broken := errors.New("broken")
	breaks := io.MultiReader(strings.NewReader("1234"), iotest.ErrReader(broken))
	require.ErrorIs(t, s.Add("a", time.Time{}, breaks), broken)
	require.ErrorIs(t, s.Add("a", time.Time{}, iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF)
	require.NoError(t, s.Add("zeros", time.Time{}, bytes.NewReader(make([]byte, align))), "holes take no space")
	require.ErrorIs(t, s.Add("a", time.Time{}, strings.NewReader("12345678901")), ErrLimit)
	_, err = s.Open("a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, s.Close())
	s.Limit = 0
	err = s.Add("a", time.Time{}, strings.NewReader("x"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.EqualError(t, err, "temporary file in "+os.TempDir()+" (TMPDIR): file already closed")
	t.Setenv("TMPDIR", "/nowhere/at/all")
	_, err = New()
	require.EqualError(t, err, "temporary file in /nowhere/at/all (TMPDIR): no such file or directory")
}
