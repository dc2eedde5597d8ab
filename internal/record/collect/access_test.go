//go:build linux

package collect

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/program"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// first and second are the users of two workers.
const first, second = testutil.Stranger, testutil.Stranger + 1

// startWorkers starts a program of two workers, of different users. It returns the program when both run.
func startWorkers(t *testing.T, command ...string) (pid int) {
	t.Helper()
	testutil.Superuser(t)
	testutil.Need(t, "setpriv")
	cmd := exec.Command(testutil.Need(t, command[0]), command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, unix.SIGKILL))
		_ = cmd.Wait() // it was killed
	})
	require.Eventually(t, func() bool {
		users := map[int]bool{}
		for _, child := range proc.Descendants(cmd.Process.Pid) {
			info, _ := proc.Read(child)
			id, ok := proc.User(child)
			users[id] = ok && info.Exe != "" && !program.IsWrapper(info.Exe) // setpriv has become sleep
		}
		return users[first] && users[second]
	}, time.Minute, poll)
	return cmd.Process.Pid
}

// become is a shell script that starts a process of each user.
var become = fmt.Sprintf(`as() { setpriv --reuid $1 --regid $1 --clear-groups sleep 1000; }; as %d & as %d & wait`,
	first, second)

// accessTo checks the access of a program to the directory of its recording, which this recording has made
// if created is set, and that other users can reach if reachable is set. It returns the messages for the user.
func accessTo(t *testing.T, o Options, created, reachable bool) (c *Collector, notes *[]string) {
	t.Helper()
	notes = new([]string)
	o.Note = func(text string) { *notes = append(*notes, text) }
	c = newTestCollector(t, o)
	mode := os.FileMode(0o700)
	if reachable {
		mode = 0o755
	}
	require.NoError(t, os.Chmod(filepath.Dir(c.dir), mode))
	require.NoError(t, os.Chmod(c.dir, 0o755))
	info, err := os.Lstat(c.dir)
	require.NoError(t, err)
	if created {
		c.o.Created = info
	}
	c.checkAccess()
	c.checkAccess()
	return c, notes
}

// canWrite reports whether a user can create a file in a directory.
func canWrite(t *testing.T, user int, dir string) bool {
	t.Helper()
	id := fmt.Sprint(user)
	return exec.Command(testutil.Need(t, "setpriv"), "--reuid", id, "--regid", id, "--clear-groups",
		"touch", filepath.Join(dir, id)).Run() == nil
}

// told checks that there is one message about each of the two users.
func told(t *testing.T, c *Collector, notes []string, format string) {
	t.Helper()
	assert.Len(t, notes, 2)
	for _, user := range []int{first, second} {
		assert.Contains(t, strings.Join(notes, "\n"), fmt.Sprintf(format, user, c.o.Shown))
	}
}

// TestAccessIsGranted to each user of a process, and one does not replace another. The user is told once
// of each.
func TestAccessIsGranted(t *testing.T) {
	root := startWorkers(t, "sh", "-c", become)
	probe := t.TempDir()
	info, err := os.Lstat(probe)
	require.NoError(t, err)
	if errors.Is(proc.Grant(probe, info, []int{first}), unix.ENOTSUP) {
		t.Skip("the file system of TMPDIR has no access control lists")
	}
	c, notes := accessTo(t, Options{Root: root, FollowChildren: true}, true, true)
	told(t, c, *notes, "runs as %d, which may write to %s from now on")
	assert.True(t, canWrite(t, first, c.dir))
	assert.True(t, canWrite(t, second, c.dir))
	assert.Empty(t, c.cannotWrite)
}

// TestAccessIsNotGranted to a directory of somebody else, nor to one that a user cannot reach. The user is
// told once of each user of a process.
func TestAccessIsNotGranted(t *testing.T) {
	root := startWorkers(t, "sh", "-c", become)
	for _, how := range []struct{ created, reachable bool }{{false, true}, {true, false}} {
		c, notes := accessTo(t, Options{Root: root, FollowChildren: true}, how.created, how.reachable)
		told(t, c, *notes, "runs as %d, which cannot write to %s: its snapshots are missing; ")
		assert.Empty(t, c.granted, "%+v", how)
		require.NoError(t, os.Chmod(filepath.Dir(c.dir), 0o755))
		assert.False(t, canWrite(t, first, c.dir), "%+v", how)
	}
}

// TestAccessOfOthers: nothing is said about the children of a program that are not recorded, and they get
// no access.
func TestAccessOfOthers(t *testing.T) {
	root := startWorkers(t, "perl", "-e", `fork or exec "sh", "-c", $ARGV[0]; wait`, become)
	for follow, want := range map[bool]int{false: 0, true: 2} {
		_, notes := accessTo(t, Options{Root: root, FollowChildren: follow}, false, true)
		assert.Len(t, *notes, want, "%v", *notes)
	}
}
