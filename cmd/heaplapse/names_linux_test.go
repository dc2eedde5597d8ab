package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

// TestRecordKeepsNames: a build replaces the program while it is recorded. Its names are kept with the recording, and in
// a bundle that is made later.
func TestRecordKeepsNames(t *testing.T) {
	t.Parallel()
	exe := server(t)
	r := started(t, "--every", "100ms", "--", exe)
	r.more(t, 2)
	require.NoError(t, os.Remove(exe))
	require.NoError(t, os.WriteFile(exe, []byte("another build"), 0o700))
	r.kill(t, syscall.SIGTERM)
	names := filepath.Join(r.dir, manifest.NamesFile)
	require.FileExists(t, names, r.stderr)
	assert.Contains(t, r.stderr, "the names of the program are kept in "+manifest.NamesFile)
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

// TestNoBundle: the names are not kept if nothing was replaced, and with --no-bundle.
func TestNoBundle(t *testing.T) {
	t.Parallel()
	exe := server(t)
	r := started(t, "--every", "100ms", "--", exe)
	r.more(t, 1)
	r.kill(t, syscall.SIGTERM)
	assert.NoFileExists(t, filepath.Join(r.dir, manifest.NamesFile), r.stderr)
	r = started(t, "--every", "100ms", "--no-bundle", "--", exe)
	r.more(t, 1)
	require.NoError(t, os.Remove(exe))
	r.kill(t, syscall.SIGTERM)
	assert.NoFileExists(t, filepath.Join(r.dir, manifest.NamesFile), r.stderr)
}

// TestAttachKeepsNames: a program in another root directory is killed, and the directory is removed, while it is recorded.
func TestAttachKeepsNames(t *testing.T) {
	t.Parallel()
	testutil.Superuser(t)
	if _, err := os.Stat("/proc/self/root"); err != nil {
		t.Skip("no /proc here")
	}
	root, exe := t.TempDir(), server(t)
	libraries, err := exec.Command(testutil.Need(t, "ldd"), exe).Output()
	require.NoError(t, err)
	for _, word := range append(strings.Fields(string(libraries)), exe) {
		if filepath.IsAbs(word) {
			copyTo(t, word, filepath.Join(root, word))
		}
	}
	mount := exec.Command("mount", "-t", "proc", "proc", filepath.Join(root, "proc"))
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	if out, err := mount.CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %s", out)
	}
	unmount := func() { _ = syscall.Unmount(filepath.Join(root, "proc"), syscall.MNT_DETACH) }
	t.Cleanup(unmount)
	cmd := exec.Command(exe)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	p := &attachable{startedCmd(t, "", cmd)}
	r := p.attachTo(t)
	r.more(t, 3)
	require.NoError(t, p.cmd.Process.Kill())
	r.wait(t)
	unmount()
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.Remove(exe))
	require.FileExists(t, filepath.Join(r.dir, manifest.NamesFile), r.stderr)
	assert.Contains(t, topOf(t, r.dir), "remember  server.cc:12")
	assert.Contains(t, r.stderr, "process "+p.pid()+" has ended")
}

// copyTo copies a program or a library.
func copyTo(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	require.NoError(t, err)
	defer out.Close()
	_, err = io.Copy(out, in)
	require.NoError(t, err)
}
