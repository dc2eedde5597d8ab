//go:build linux

package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestProgramPath: a program that was started by a link has the name of the link, also if it has changed its arguments
// since; one that runs under a name of its own has that of its file.
func TestProgramPath(t *testing.T) {
	testutil.Need(t, "sleep")
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	sleep, err = filepath.EvalSymlinks(sleep)
	require.NoError(t, err)
	content, err := os.ReadFile(sleep)
	require.NoError(t, err)
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, content, 0o700))
	require.NoError(t, os.Symlink(file, link))
	cmd := exec.Command(link, "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := cmd.Process.Pid
	info, ok := proc.Read(pid)
	require.True(t, ok)
	require.Equal(t, link, programPath(pid, info))
	info.Command = []string{"link: working"}
	require.Equal(t, link, programPath(pid, info), "the kernel has its name")
	info.Exe = ""
	require.Equal(t, "link", programPath(pid, info))

	info.Exe, info.Command = file, []string{"other"}
	require.Equal(t, file, programPath(os.Getpid(), info))
}
