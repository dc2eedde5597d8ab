package main

import (
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

// TestAttachKeepsNames: a program in another root directory is killed, and the directory is removed, while it is
// recorded.
func TestAttachKeepsNames(t *testing.T) {
	t.Parallel()
	testutil.Superuser(t)
	root, exe := t.TempDir(), ownServer(t)
	libraries, err := exec.Command(testutil.Need(t, "ldd"), exe).Output()
	require.NoError(t, err)
	for _, word := range append(strings.Fields(string(libraries)), exe) {
		if filepath.IsAbs(word) {
			content, err := os.ReadFile(word)
			require.NoError(t, err)
			testutil.WriteFile(t, filepath.Join(root, word), string(content), 0o755)
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
