package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestFilesOfAnotherRoot: attach tells where the files of a process in a container are.
func TestFilesOfAnotherRoot(t *testing.T) {
	require.Empty(t, filesOf(os.Getpid(), "heap"))
	if os.Getuid() != 0 {
		t.Skip("only root can change the root directory of a process")
	}
	root := t.TempDir()
	source := filepath.Join(root, "wait.c")
	require.NoError(t, os.WriteFile(source, []byte("#include <unistd.h>\nint main(void) { return (int)read(0, &(char){0}, 1); }\n"), 0o644))
	out, err := exec.Command(testutil.Need(t, "gcc"), "-static", "-o", filepath.Join(root, "wait"), source).CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command("/wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	require.Contains(t, filesOf(pid, "heap"), "heaplapse bundle heap keeps them")
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.Empty(t, filesOf(pid, "heap"))
}
