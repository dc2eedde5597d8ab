//go:build linux && amd64

package tracer_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/record/attach/unwind"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// compile builds a program of testdata and returns its path.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-O1", "-pthread", "-o", program, filepath.Join("testdata", source)}, flags...)
	out, err := exec.Command(testutil.Need(t, "gcc"), args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// start runs stack.c until it waits.
func start(t *testing.T, flags ...string) *target.Process {
	t.Helper()
	cmd := exec.Command(compile(t, "stack.c", append(flags, "-rdynamic")...))
	require.Empty(t, testutil.Ready(t, cmd))
	require.Eventually(t, func() bool {
		threads := target.Threads(cmd.Process.Pid)
		return len(threads) == 1 && threads[0].Call == unix.SYS_PAUSE
	}, time.Minute, time.Millisecond)
	p, err := target.Open(cmd.Process.Pid)
	require.NoError(t, err)
	return p
}

func stop(t *testing.T, p *target.Process) *tracer.Thread {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	th, err := tracer.Stop(p.Memory, p.PID, tracer.Options{})
	require.NoError(t, err)
	return th
}

// TestStack unwinds a stack whose functions are known, with and without frame pointers.
func TestStack(t *testing.T) {
	for _, flag := range []string{"-fomit-frame-pointer", "-fno-omit-frame-pointer"} {
		t.Run(flag, func(t *testing.T) {
			p := start(t, flag)
			th := stop(t, p)
			u := unwind.Unwinder{Memory: p.Memory, Modules: p.Modules}
			frames, complete, _ := u.Stack(th.Registers())
			assert.True(t, complete)
			var names []string
			for _, f := range frames {
				for _, name := range []string{"third", "second", "first", "main"} {
					if p.Program().Symbol(name).Contains(f.Call) {
						names = append(names, name)
					}
				}
			}
			assert.Equal(t, []string{"third", "second", "first", "main"}, names)
			_, err := th.Release()
			require.NoError(t, err)
		})
	}
}

// TestStopDespiteSignals: a thread stops although signals come faster than it can be stopped. Each of them ends the
// kernel's request to stop it.
func TestStopDespiteSignals(t *testing.T) {
	cmd := exec.Command(compile(t, "alarms.c"))
	require.Empty(t, testutil.Ready(t, cmd))
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	for range 300 {
		th, err := tracer.Stop(target.Memory{PID: cmd.Process.Pid}, cmd.Process.Pid, tracer.Options{})
		require.NoError(t, err)
		_, err = th.Release()
		require.NoError(t, err)
	}
}

// TestSyscall lets a borrowed thread make system calls, after which it is where it was.
func TestSyscall(t *testing.T) {
	p := start(t)
	th := stop(t, p)
	returns, err := tracer.FindReturns(p.Libc, p.Memory)
	require.NoError(t, err)
	before := th.Regs
	require.NoError(t, th.Borrow(returns, p.Mappings))
	for range 3 {
		pid, err := th.Syscall(returns, unix.SYS_GETPID)
		require.NoError(t, err)
		assert.EqualValues(t, p.PID, pid)
	}
	bad, err := th.Syscall(returns, unix.SYS_CLOSE, 1<<20)
	require.NoError(t, err)
	assert.EqualValues(t, -int64(unix.EBADF), bad)
	_, err = th.Release()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return target.Threads(p.PID)[0].Call == unix.SYS_PAUSE },
		time.Minute, time.Millisecond)
	th = stop(t, p)
	assert.Equal(t, before, th.Regs)
	assert.Equal(t, "0000000000000000", target.Status(p.PID, "SigBlk"))
	_, err = th.Release()
	require.NoError(t, err)
}
