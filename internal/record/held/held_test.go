//go:build linux

package held

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// sleeper is a program in C that says that it is ready and waits.
const sleeper = `#include <unistd.h>
int main() { if (write(1, "ready\n", 6) != 6) return 1; sleep(300); }`

func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "sleeper.c"), filepath.Join(dir, "sleeper")
	require.NoError(t, os.WriteFile(source, []byte(sleeper), 0o600))
	out, err := exec.Command(testutil.Need(t, "gcc"), append(flags, "-o", program, source)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func none(string) bool { return false }

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// TestReplacedFile holds a program that a build replaces, and one that was replaced before.
func TestReplacedFile(t *testing.T) {
	program := build(t)
	cmd := exec.Command(program)
	testutil.Ready(t, cmd)
	pid, old := cmd.Process.Pid, content(t, program)
	var f Files
	t.Cleanup(f.Close)
	f.Add(pid, program)
	f.Add(pid, "/memfd:x (deleted)")
	f.Add(pid, "[vdso]")
	f.Add(pid, filepath.Join(filepath.Dir(program), "sleeper.c"))
	assert.Nil(t, f.ToKeep(none), "all files are at their paths")
	require.Len(t, f.Of(pid).Files, 1)
	require.NoError(t, os.Remove(program))
	require.NoError(t, os.WriteFile(program, []byte("\x7fELF, another one"), 0o600))
	assert.True(t, f.ToKeep(none)("any"))
	assert.Equal(t, old, content(t, f.Of(pid).Files[program]))

	var late Files
	t.Cleanup(late.Close)
	late.Add(pid, program+" (deleted)")
	assert.NotNil(t, late.ToKeep(none))
	assert.Equal(t, old, content(t, late.Of(pid).Files[program]))
	assert.Empty(t, late.Of(pid).Root)
	late.Close()
	assert.Nil(t, late.ToKeep(none))
	assert.Empty(t, late.Of(pid).Files)
}

// TestOwnFiles: files that a build may replace are to be kept, unless they are large.
func TestOwnFiles(t *testing.T) {
	program := build(t)
	cmd := exec.Command(program)
	testutil.Ready(t, cmd)
	var f Files
	t.Cleanup(f.Close)
	f.Add(cmd.Process.Pid, program)
	f.Add(cmd.Process.Pid, "/bin/sh")
	keep := f.ToKeep(func(path string) bool { return path == program })
	require.NotNil(t, keep)
	assert.True(t, keep(program))
	assert.False(t, keep("/bin/sh"))
	large := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(large, []byte("\x7fELF"), 0o600))
	require.NoError(t, os.Truncate(large, mostBuilt))
	f.Add(cmd.Process.Pid, large)
	assert.Nil(t, f.ToKeep(func(path string) bool { return path != "/bin/sh" }))
}

// TestFewOpenFiles: a recorder that may have few files open holds none, because it needs them for the recording.
func TestFewOpenFiles(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.Positive(t, most())
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 63, Max: limit.Max}))
	none := most()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(200, limit.Max), Max: limit.Max}))
	few := most()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.Zero(t, none)
	assert.Equal(t, 50, few)
}

// TestOtherRoot holds the files of a process in a container, which is removed. A link in the container does not lead
// out of it.
func TestOtherRoot(t *testing.T) {
	testutil.Superuser(t)
	program, root := build(t, "-static"), t.TempDir()
	elf := content(t, program)
	require.NoError(t, os.WriteFile(filepath.Join(root, "sleeper"), []byte(elf), 0o700))
	require.NoError(t, os.Symlink(program, filepath.Join(root, "secret")))
	require.NoError(t, os.Symlink("/sleeper", filepath.Join(root, "link")))
	cmd := exec.Command("/sleeper")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	testutil.Ready(t, cmd)
	pid := cmd.Process.Pid
	var f Files
	t.Cleanup(f.Close)
	for _, path := range []string{"/sleeper", "/secret", "/link", "/none"} {
		f.Add(pid, path)
	}
	assert.True(t, f.ToKeep(none)("any"))
	at := f.Of(pid)
	require.Len(t, at.Files, 2)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, err := os.Stat(filepath.Join(at.Root, "sleeper"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(root))
	assert.Equal(t, elf, content(t, at.Files["/sleeper"]))
	assert.Equal(t, elf, content(t, at.Files["/link"]))
}
