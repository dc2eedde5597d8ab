package main

import (
	"archive/tar"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// topOf returns what top tells of a recording.
func topOf(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("heaplapse", "top", "--no-cache", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestRecordKeepsNames: a build replaces the program while it is recorded. Its names are kept with the recording, and
// in a bundle that is made later.
func TestRecordKeepsNames(t *testing.T) {
	t.Parallel()
	exe := ownServer(t)
	r := started(t, "--every", "100ms", "--", exe)
	r.more(t, 2)
	require.NoError(t, os.Remove(exe))
	require.NoError(t, os.WriteFile(exe, []byte("another build"), 0o700))
	r.kill(t, syscall.SIGTERM)
	names := filepath.Join(r.dir, manifest.NamesFile)
	require.FileExists(t, names, r.stderr)
	assert.Regexp(t, `heaplapse: the names of the program are kept in `+manifest.NamesFile+` \([0-9.]+ .iB\)\n`, r.stderr)
	const line = "remember  server.cc:12"
	assert.Contains(t, topOf(t, r.dir), line)

	archive := filepath.Join(t.TempDir(), "all.heaplapse.tar.zst")
	out, err := exec.Command("heaplapse", "bundle", "-o", archive, r.dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Rename(names, names+".not"))
	assert.NotContains(t, topOf(t, r.dir), line)
	assert.Contains(t, topOf(t, archive), line)
	out, err = exec.Command("heaplapse", "top", names+".not").CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), "it holds no snapshots; read the directory of the recording instead")

	require.NoError(t, os.Rename(archive, r.dir+".heaplapse.tar.zst"))
	assert.Contains(t, topOf(t, r.dir), line, "a bundle beside the directory")
	require.NoError(t, os.WriteFile(names, []byte("no archive"), 0o600))
	assert.Contains(t, topOf(t, r.dir), "names.heaplapse.tar.zst: not a usable bundle: ")
}

// TestRebuild: a build replaces the user's own program after it was recorded. Only the names of that are kept: the
// libraries of the system are at their paths.
func TestRebuild(t *testing.T) {
	t.Parallel()
	exe := ownServer(t)
	r := started(t, "--every", "100ms", "--", exe)
	r.more(t, 2)
	r.kill(t, syscall.SIGTERM)
	require.NoError(t, os.Remove(exe))
	require.NoError(t, os.WriteFile(exe, []byte("another build"), 0o700))
	assert.Contains(t, topOf(t, r.dir), "remember  server.cc:12", r.stderr)
	entries := entriesOf(t, filepath.Join(r.dir, manifest.NamesFile))
	require.Len(t, entries, 2)
	assert.Equal(t, filepath.Base(exe), filepath.Base(entries[1]), "behind the index")
}

// entriesOf returns the names of the files in an archive.
func entriesOf(t *testing.T, archive string) (list []string) {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	require.NoError(t, err)
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list
		}
		require.NoError(t, err)
		list = append(list, h.Name)
	}
}

// TestNoBundle: the names are not kept of programs of the system, nor with --no-bundle.
func TestNoBundle(t *testing.T) {
	t.Parallel()
	exe := ownServer(t)
	r := started(t, "--every", "100ms", "--", testutil.Need(t, "perl"), "-e", `$| = 1; print "ready\n"; $SIG{TERM} = sub { exit 0 }; sleep 1 while 1`)
	r.more(t, 1)
	r.kill(t, syscall.SIGTERM)
	assert.NoFileExists(t, filepath.Join(r.dir, manifest.NamesFile), r.stderr)
	r = started(t, "--every", "100ms", "--no-bundle", "--", exe)
	r.more(t, 1)
	require.NoError(t, os.Remove(exe))
	r.kill(t, syscall.SIGTERM)
	assert.NoFileExists(t, filepath.Join(r.dir, manifest.NamesFile), r.stderr)
}
