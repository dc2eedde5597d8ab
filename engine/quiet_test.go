//go:build linux && amd64

package engine

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"golang.org/x/sys/unix"
)

// TestQuietSamples: a sample makes no system call as long as no signal has a handler but that of the C library, which
// is set when the first thread is created.
func TestQuietSamples(t *testing.T) {
	program := compile(t, "gcc", "quiet.c", "-fno-builtin")
	assert.Less(t, callsOf(t, program, "none"), 100)
	assert.Less(t, callsOf(t, program, "ignored"), 100)
	assert.Less(t, callsOf(t, program, "thread"), 100)
	assert.GreaterOrEqual(t, callsOf(t, program, "handled"), 2000, "signals are blocked")
}

// callsOf returns the number of system calls that the first thread of the program makes between two calls of getsid.
func callsOf(t *testing.T, program, how string) (n int) {
	t.Helper()
	runtime.LockOSThread() // which traces
	defer runtime.UnlockOSThread()
	r := record(t, "every=50", program, "calls", how)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	require.NoError(t, r.cmd.Start())
	pid, marks, entry := r.cmd.Process.Pid, 0, true
	var status unix.WaitStatus
	_, err := unix.Wait4(pid, &status, 0, nil)
	require.NoError(t, err)
	require.NoError(t, unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD))
	for deliver := 0; ; entry = !entry {
		require.NoError(t, unix.PtraceSyscall(pid, deliver))
		_, err := unix.Wait4(pid, &status, 0, nil)
		require.NoError(t, err)
		if status.Exited() {
			require.Zero(t, status.ExitStatus())
			require.Equal(t, 2, marks)
			_ = r.cmd.Wait()
			return n
		}
		if deliver = int(status.StopSignal()); deliver != int(unix.SIGTRAP|0x80) {
			entry = !entry // a signal
			continue
		}
		deliver = 0
		var registers unix.PtraceRegs
		require.NoError(t, unix.PtraceGetRegs(pid, &registers))
		switch {
		case !entry:
		case registers.Orig_rax == unix.SYS_GETSID:
			marks++
		case marks == 1:
			n++
		}
	}
}

// TestHandlersSetLater: a handler that interrupts a thread waits for another thread, which takes samples. A handler that
// is set by a system call is seen at a snapshot.
func TestHandlersSetLater(t *testing.T) {
	program := compile(t, "gcc", "quiet.c", "-fno-builtin")
	for _, how := range []string{"sigaction", "signal", "system call"} {
		r := record(t, "every=50", program, "interrupt", how).run(t)
		assert.Equal(t, "200\n", r.stdout.String(), how)
	}
}

// TestSignalsInSamples: the engine's own handler waits until the sample has been taken, and the program's mask of signals
// is as before. Each signal has a snapshot.
func TestSignalsInSamples(t *testing.T) {
	program := compile(t, "gcc", "quiet.c", "-fno-builtin")
	r, lines := start(t, "signal=12", program, "signals", "")
	r.cmd.Stderr = os.Stderr
	require.True(t, lines.Scan())
	for n := 1; n <= 100; n++ {
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGUSR2))
		await(t, "a snapshot", func() bool { return r.heaps() >= n })
	}
	for range 60 { // most of the time, the program is in a sample
		r, lines := start(t, "", program, "signals", "")
		require.True(t, lines.Scan())
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
		require.Error(t, r.cmd.Wait())
		assert.Equal(t, syscall.SIGTERM, r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		events := r.events(t, r.cmd.Process.Pid)
		assert.Equal(t, []string{"exit"}, triggers(events))
		assert.Equal(t, int(syscall.SIGTERM), events[len(events)-1].Snapshot.Signal)
	}
}
