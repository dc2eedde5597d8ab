package pipeline

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestFilesOfAProcessInAContainer: the files of a process that has another root directory are found in
// it, as long as it lives.
func TestFilesOfAProcessInAContainer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	root := t.TempDir()
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\nimport \"time\"\nfunc main() { time.Sleep(time.Minute) }\n"), 0o600))
	build := exec.Command(testutil.Need(t, "go"), "build", "-o", filepath.Join(root, "server"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command("/server")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if err := cmd.Start(); err != nil {
		t.Skip("no chroot here: ", err)
	}
	pid := cmd.Process.Pid
	found := otherRoot(pid, "/server")
	require.NotEmpty(t, found)
	_, err = os.Stat(filepath.Join(found, "server"))
	require.NoError(t, err)
	require.Empty(t, otherRoot(pid, "/other"), "another program has the number now")
	self, err := os.Executable()
	require.NoError(t, err)
	require.Empty(t, otherRoot(os.Getpid(), self), "a process with our root directory")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Empty(t, otherRoot(pid, "/server"))
}
