//go:build linux

package collect

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// endedPID is larger than the number of any process. Processes that run these tests at the same time
// use different numbers.
func endedPID() int { return 1<<29 + os.Getpid() }

// sharedFile returns the path of a file in a directory where every user can make files.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("/tmp", name)
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// TestJITCopies: a map of generated code is copied with its mode, again when it has grown.
func TestJITCopies(t *testing.T) {
	pid := endedPID()
	j := jitCopies{dir: t.TempDir()}
	perf, dump := fmt.Sprintf("perf-%d.map", pid), fmt.Sprintf("jit-%d.dump", pid)
	elsewhere := filepath.Join(t.TempDir(), dump)
	update := func() []manifest.File {
		files, errs := j.update(pid, os.Geteuid(), []string{"/bin/node", elsewhere, "/lib/libc.so.6"}, true)
		require.Empty(t, errs)
		return files
	}
	require.Empty(t, update(), "there are no maps")
	original := sharedFile(t, perf)
	require.NoError(t, os.WriteFile(original, []byte("one\n"), 0o600))
	require.NoError(t, os.Chmod(original, 0o640))
	require.NoError(t, os.WriteFile(elsewhere, []byte("dump"), 0o600))
	require.Equal(t, []manifest.File{
		{File: perf, Path: original, Kind: "perf-map", PID: pid}, {File: dump, Path: elsewhere, Kind: "jitdump", PID: pid},
	}, update())
	require.NoError(t, os.WriteFile(original, []byte("one\ntwo\n"), 0o600))
	require.Empty(t, update(), "only new files are returned")
	for name, want := range map[string]struct {
		content string
		mode    fs.FileMode
	}{perf: {"one\ntwo\n", 0o640}, dump: {"dump", 0o600}} {
		path := filepath.Join(j.dir, name)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want.content, string(content))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want.mode, info.Mode(), name)
	}
}

// TestJITCopiesOfContainers: a process in PID and mount namespaces of its own names its map by its own number.
func TestJITCopiesOfContainers(t *testing.T) {
	testutil.Superuser(t)
	script := `mount -t tmpfs tmpfs /tmp || exit 77
exec perl -e '$| = 1; open F, ">/tmp/perf-$$.map"; print F "1000 10 f\n"; close F; print "$$\nready\n"; sleep 300'`
	cmd := exec.Command(testutil.Need(t, "unshare"), "--pid", "--fork", "--mount", "--kill-child", "sh", "-c", script)
	try := exec.Command("unshare", "--pid", "--fork", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp")
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %s", out)
	}
	require.Equal(t, []string{"1"}, testutil.Ready(t, cmd))
	pid := proc.Children(cmd.Process.Pid)[0]
	j := jitCopies{dir: t.TempDir()}
	files, errs := j.update(pid, os.Geteuid(), nil, false)
	require.Empty(t, errs)
	want := fmt.Sprintf("perf-%d.map", pid)
	require.Equal(t, []manifest.File{{File: want, Path: "/tmp/perf-1.map", Kind: "perf-map", PID: pid}}, files)
	content, err := os.ReadFile(filepath.Join(j.dir, want))
	require.NoError(t, err)
	require.Equal(t, "1000 10 f\n", string(content))
}

// TestJITCopiesOfStrangers: another user can make a file or a link of the name before the program
// does, and a link in the directory of the snapshots if it belongs to him.
func TestJITCopiesOfStrangers(t *testing.T) {
	pid := endedPID()
	original := sharedFile(t, fmt.Sprintf("perf-%d.map", pid))
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	refuses := func(user int, want string) {
		t.Helper()
		j := jitCopies{dir: t.TempDir()}
		files, errs := j.update(pid, user, nil, true)
		require.Empty(t, files)
		require.Len(t, errs, 1)
		require.EqualError(t, errs[0], original+" was not copied: "+want)
		left, err := os.ReadDir(j.dir)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, os.Remove(original))
	}
	require.NoError(t, os.Symlink(secret, original))
	refuses(os.Geteuid(), "is a symbolic link")
	require.NoError(t, unix.Mkfifo(original, 0o600))
	refuses(os.Geteuid(), "a pipe, not a regular file")
	if os.Geteuid() == 0 {
		require.NoError(t, os.WriteFile(original, []byte("map"), 0o600))
		require.NoError(t, os.Chown(original, testutil.Stranger, testutil.Stranger))
		refuses(12345, "belongs to another user (54321)")
	}

	require.NoError(t, os.WriteFile(original, []byte("map"), 0o600))
	j := jitCopies{dir: t.TempDir()}
	copied := filepath.Join(j.dir, filepath.Base(original))
	require.NoError(t, os.Symlink(secret, copied))
	files, errs := j.update(pid, os.Geteuid(), nil, true)
	require.Empty(t, errs)
	require.Len(t, files, 1)
	content, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(content), "the copy replaces the link")
	info, err := os.Lstat(copied)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
}
