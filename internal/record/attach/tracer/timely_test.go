//go:build linux && amd64

package tracer_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
	"github.com/heaplapse/heaplapse/internal/record/attach/tracer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestWaitsEndInTime stops the thread of a program again and again while it waits. The wait must return what it would
// without that, not early, and must end although the stops come more often than it is long.
func TestWaitsEndInTime(t *testing.T) {
	needClock(t)
	program := compile(t, "timely.c")
	for _, kind := range []string{"epoll_wait", "epoll_pwait", "poll", "nanosleep", "handler", "ignored signals"} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command(program, kind)
			require.Empty(t, testutil.Ready(t, cmd))
			p, err := target.Open(cmd.Process.Pid)
			require.NoError(t, err)
			stops := stopUntilTheEnd(t, p)
			require.NoError(t, cmd.Wait())
			t.Logf("%d stops", stops)
		})
	}
}

func stopUntilTheEnd(t *testing.T, p *target.Process) (stops int) {
	const between = 10 * time.Millisecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ended := func() bool { return strings.HasPrefix(target.Status(p.PID, "State"), "Z") }
	for end := time.Now().Add(time.Minute); !ended(); time.Sleep(between) {
		require.True(t, time.Now().Before(end), "the wait does not end")
		s, err := stopOne(p)
		if err != nil && ended() {
			break
		}
		require.NoError(t, err)
		_, err = s.Release()
		require.NoError(t, err)
		stops++
	}
	return stops
}

func stopOne(p *target.Process) (*tracer.Thread, error) {
	sleeps := tracer.ReadSleeps(p.PID, target.Threads(p.PID), p.Libc)
	return tracer.Stop(p.Memory, p.PID, tracer.Options{Sleeps: sleeps})
}

// TestSignalWhileStopped: a signal that comes while a thread is stopped, and makes system calls for the tracer, ends
// its wait. A server that waits for SIGTERM would not end otherwise.
func TestSignalWhileStopped(t *testing.T) {
	program := compile(t, "timely.c")
	for _, borrowed := range []bool{false, true} {
		t.Run(fmt.Sprint(borrowed), func(t *testing.T) {
			cmd := exec.Command(program, "signal")
			require.Empty(t, testutil.Ready(t, cmd))
			p, err := target.Open(cmd.Process.Pid)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				th, _ := target.ReadThread(p.PID, p.PID)
				return th.Call == unix.SYS_EPOLL_WAIT || th.Call == unix.SYS_EPOLL_PWAIT
			}, time.Minute, time.Millisecond)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			s, err := stopOne(p)
			require.NoError(t, err)
			if borrowed {
				returns, err := tracer.FindReturns(p.Libc, p.Memory)
				require.NoError(t, err)
				require.NoError(t, s.Borrow(returns, p.Mappings))
				_, err = s.Syscall(returns, unix.SYS_GETPID)
				require.NoError(t, err)
			}
			require.NoError(t, cmd.Process.Signal(unix.SIGUSR1))
			_, err = s.Release()
			require.NoError(t, err)
			ended := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer ended.Stop()
			require.NoError(t, cmd.Wait(), "the wait has not ended with EINTR")
		})
	}
}

// TestLeftAlone: a thread is not stopped, and does not wake up, if its call would return early, or with a part of what
// it is to do.
func TestLeftAlone(t *testing.T) {
	const hour = "3600"
	program := compile(t, "timely.c")
	for kind, call := range map[string]int64{
		"epoll_pwait2": unix.SYS_EPOLL_PWAIT2, "semtimedop": unix.SYS_SEMTIMEDOP, "sigtimedwait": unix.SYS_RT_SIGTIMEDWAIT,
		"recv": unix.SYS_RECVFROM, "recv all": unix.SYS_RECVFROM, "read": unix.SYS_READ, "accept": unix.SYS_ACCEPT,
		"io_uring": unix.SYS_IO_URING_ENTER, "write": unix.SYS_WRITE, "send": unix.SYS_SENDTO,
		"recv at least": unix.SYS_RECVFROM, "ppoll": unix.SYS_PPOLL, "terminal": unix.SYS_READ,
	} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command(program, kind, hour)
			require.Empty(t, testutil.Ready(t, cmd))
			p, err := target.Open(cmd.Process.Pid)
			require.NoError(t, err)
			state := func() (string, int64) {
				th, _ := target.ReadThread(p.PID, p.PID)
				return target.Status(p.PID, "voluntary_ctxt_switches"), th.Call
			}
			var before string
			require.Eventually(t, func() bool {
				var at int64
				before, at = state()
				return at == call || kind == "io_uring" && at == unix.SYS_CLOCK_NANOSLEEP
			}, time.Minute, 100*time.Millisecond)
			if _, at := state(); at != call {
				t.Skip("io_uring is not permitted here")
			}
			for range 20 {
				_, err := stopOne(p)
				var waiting *tracer.Waiting
				require.ErrorAs(t, err, &waiting)
				assert.Equal(t, call, waiting.Thread.Call)
			}
			after, _ := state()
			assert.Equal(t, before, after)
		})
	}
}

// TestWorksInKernel: a thread that only makes a long system call is not stopped, although it does not wait. One that
// runs code of its program is.
func TestWorksInKernel(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := compile(t, "timely.c")
	start := func(kind string) (*exec.Cmd, *target.Process) {
		cmd := exec.Command(program, kind)
		require.Empty(t, testutil.Ready(t, cmd))
		p, err := target.Open(cmd.Process.Pid)
		require.NoError(t, err)
		return cmd, p
	}
	cmd, p := start("random")
	for range 20 {
		_, err := stopOne(p)
		var waiting *tracer.Waiting
		require.ErrorAs(t, err, &waiting)
		assert.True(t, waiting.Thread.Running)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.False(t, cmd.ProcessState.Exited(), "a read was short")
	_, p = start("busy")
	s, err := stopOne(p)
	for end := time.Now().Add(time.Minute); err != nil; s, err = stopOne(p) { // it had no processor
		var waiting *tracer.Waiting
		require.ErrorAs(t, err, &waiting)
		require.True(t, time.Now().Before(end))
	}
	_, err = s.Release()
	require.NoError(t, err)
}

// TestWaitIsShortened: a thread that is stopped in its wait goes on for the rest of its time, as its registers tell.
func TestWaitIsShortened(t *testing.T) {
	needClock(t)
	const seconds, part = 600, 300 * time.Millisecond
	cmd := exec.Command(compile(t, "timely.c"), "epoll_wait", fmt.Sprint(seconds))
	require.Empty(t, testutil.Ready(t, cmd))
	p, err := target.Open(cmd.Process.Pid)
	require.NoError(t, err)
	thread := func() target.Thread {
		th, _ := target.ReadThread(p.PID, p.PID)
		return th
	}
	waits := func() bool { return thread().Call == unix.SYS_EPOLL_WAIT || thread().Call == unix.SYS_EPOLL_PWAIT }
	require.Eventually(t, waits, time.Minute, time.Millisecond)
	time.Sleep(part)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := stopOne(p)
	require.NoError(t, err)
	_, err = s.Release()
	require.NoError(t, err)
	require.Eventually(t, waits, time.Minute, time.Millisecond)
	assert.Positive(t, thread().Arguments[3])
	assert.LessOrEqual(t, thread().Arguments[3], uint64((seconds*time.Second - part/2).Milliseconds()))
}

// needClock skips a test on kernels whose scheduler does not tell when a thread has run.
func needClock(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skip("the kernel lacks CONFIG_SCHED_DEBUG: threads that wait with a limit are not stopped")
	}
}
