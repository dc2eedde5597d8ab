//go:build linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestPermitted: the owner has the first three bits, even if a group or others have more.
func TestPermitted(t *testing.T) {
	o := owner{user: 7, groups: []int{20, 21}}
	for _, c := range []struct {
		user, group, mode uint32
		want              bool
	}{
		{7, 0, 0o300, true}, {7, 20, 0o077, false}, {8, 21, 0o030, true}, {8, 21, 0o707, false}, {8, 22, 0o003, true},
		{8, 22, 0o001, false}, {8, 22, 0o772, false},
	} {
		st := unix.Stat_t{Uid: c.user, Gid: c.group, Mode: unix.S_IFDIR | c.mode}
		require.Equal(t, c.want, o.permitted(&st, 3), "%+v", c)
	}
}

// TestCanWrite compares with what the process itself finds.
func TestCanWrite(t *testing.T) {
	setpriv := testutil.Need(t, "setpriv")
	testutil.Superuser(t)
	top := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(top), 0o755))
	user := fmt.Sprint(testutil.Stranger)
	for _, mode := range []os.FileMode{0o700, 0o750, 0o770, 0o755, 0o777, 0o705, 0o703} {
		dir := filepath.Join(top, fmt.Sprintf("%o", mode), "below")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.Chown(dir, 0, testutil.Stranger))
		for _, change := range []string{dir, filepath.Dir(dir)} {
			require.NoError(t, os.Chmod(change, mode))
			cmd := exec.Command(setpriv, "--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", `touch "$0/file" 2>/dev/null; echo $?; read line`, dir)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			status := make([]byte, 1)
			_, err = out.Read(status)
			require.NoError(t, err)
			require.Equal(t, status[0] == '0', CanWrite(cmd.Process.Pid, dir), "%s %o", change, mode)
			require.NoError(t, in.Close())
			_ = cmd.Wait() // read fails at the end of the input
			_ = os.Remove(filepath.Join(dir, "file"))
		}
	}
	require.True(t, CanWrite(os.Getpid(), top), "root")
	require.True(t, CanWrite(1<<29, top), "it has ended")
}

// TestCanWriteOfZombie: a process that has ended, but whose parent does not know yet, lacks no access.
func TestCanWriteOfZombie(t *testing.T) {
	cmd := exec.Command(testutil.Need(t, "true"))
	if os.Geteuid() == 0 { // root may write anywhere
		stranger := &syscall.Credential{Uid: testutil.Stranger, Gid: testutil.Stranger}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: stranger}
	}
	require.NoError(t, cmd.Start())
	for stateOf(cmd.Process.Pid) != 'Z' {
		time.Sleep(time.Millisecond)
	}
	require.True(t, CanWrite(cmd.Process.Pid, t.TempDir()))
	require.True(t, CanReach(cmd.Process.Pid, t.TempDir()))
	require.NoError(t, cmd.Wait())
}

// TestGrant: another user can create files in the directory, but not remove those of others. A
// directory that has taken its place is left alone.
func TestGrant(t *testing.T) {
	setpriv := testutil.Need(t, "setpriv")
	testutil.Superuser(t)
	top := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(top), 0o755))
	require.NoError(t, os.Chmod(top, 0o755))
	dir := filepath.Join(top, "made")
	require.NoError(t, os.Mkdir(dir, 0o755))
	info, err := os.Lstat(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ours"), nil, 0o644))
	as := func(user int, script string) error {
		return exec.Command(setpriv, "--reuid", fmt.Sprint(user), "--regid", fmt.Sprint(user), "--clear-groups", "sh", "-c", script, dir).Run()
	}
	require.Error(t, as(testutil.Stranger, `touch "$0/theirs"`))
	err = Grant(dir, info, []int{testutil.Stranger + 1, testutil.Stranger})
	if errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system of TMPDIR has no access control lists")
	}
	require.NoError(t, err)
	require.NoError(t, as(testutil.Stranger, `touch "$0/theirs"`))
	require.Error(t, as(testutil.Stranger, `rm -f "$0/ours"`))
	require.NoError(t, as(testutil.Stranger+1, `touch "$0/others"`))
	require.Error(t, as(testutil.Stranger+2, `touch "$0/more"`))

	other := filepath.Join(top, "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	require.ErrorContains(t, Grant(other, info, []int{testutil.Stranger}), "another directory has taken its place")
	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink(dir, link))
	require.Error(t, Grant(link, info, []int{testutil.Stranger}))
}
