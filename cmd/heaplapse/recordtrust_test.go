//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/preloadfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// The tests of this file are about other users of the machine.

// stranger is a user that is neither root nor the user of the tests.
const stranger = 54321

// theirs returns a directory that belongs to another user. It skips the test unless it runs as
// root.
func theirs(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it gives files to another user")
	}
	dir := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chown(dir, stranger, stranger))
	return dir
}

// TestRecordIntoADirectoryOfAnotherUser: the owner of the directory could replace a library in it
// before the program's loader reads it.
func TestRecordIntoADirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		dir := theirs(t)
		r := begin(t, dir, recordCmd(t, dir, "-q", "--engine", engine, "--", "true"))
		r.wait(t)
		assert.Equal(t, 0, r.state.ExitStatus(), r.stderr)
		assert.NotEmpty(t, wholeSnapshots(t, dir))
		preloaded := strings.Split(manifestOf(t, dir).Recording.Settings["LD_PRELOAD"], ":")
		require.Len(t, preloaded, 2, "the allocator and the agent")
		for _, path := range preloaded {
			assert.NotEqual(t, dir, filepath.Dir(path))
			assert.NoError(t, preloadfile.Check(path))
		}
	})
}

// TestRecordWithALibraryOfAnotherUser: root's choice is respected, with a warning.
func TestRecordWithALibraryOfAnotherUser(t *testing.T) {
	t.Parallel()
	library := testutil.NeedFile(t, "/usr/lib/*/libjemalloc.so.2")
	path := filepath.Join(theirs(t), "libjemalloc.so.2")
	content, err := os.ReadFile(library)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	out, err := exec.Command("heaplapse", "record", "--dry-run", "--engine", "jemalloc", "--library", path, "--", "true").CombinedOutput()
	require.NoError(t, err, string(out))
	warning := fmt.Sprintf("heaplapse: warning: another user can replace %s: %s belongs to user %d\n", path, filepath.Dir(path), stranger)
	require.Contains(t, string(out), warning)
}

// TestRecordingsThatStartTogether: every program runs, and its recording has a directory of its
// own.
func TestRecordingsThatStartTogether(t *testing.T) {
	t.Parallel()
	needEngine(t, "jemalloc")
	dir := t.TempDir()
	const n = 5
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			cmd := exec.Command("heaplapse", "record", "--", "true")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
	wg.Wait()
	recordings, err := filepath.Glob(filepath.Join(dir, "heaplapse-true-*", "heaplapse.manifest.jsonl"))
	require.NoError(t, err)
	require.Len(t, recordings, n)
}

// TestRecordUnderAnUmask: no file of a private recording can be read by others.
func TestRecordUnderAnUmask(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		dir := filepath.Join(t.TempDir(), "out")
		script := `umask 077; exec heaplapse record -q --engine "$0" -o "$1" -- true`
		out, err := exec.Command("sh", "-c", script, engine, dir).CombinedOutput()
		require.NoError(t, err, string(out))
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(files), 2, "the manifest and a snapshot")
		for _, f := range files {
			info, err := f.Info()
			require.NoError(t, err)
			assert.Zero(t, info.Mode().Perm()&0o077, "%s %s", info.Mode(), f.Name())
		}
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|0o700, info.Mode())
	})
}
