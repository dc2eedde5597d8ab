// The race detector has nothing to see here: what is tested runs in another process.

//go:build linux && amd64 && !race

package attach

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// TestLateHelper: a heaplapse was killed, and its helper begins when another heaplapse records. It must
// not disturb that recording.
func TestLateHelper(t *testing.T) {
	runtime.LockOSThread() // a thread is traced by one thread
	defer runtime.UnlockOSThread()
	p := run(t, compile(t, "busy.c"), "2", "leak")
	_, err := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0)).Stop()
	require.NoError(t, err)

	late := injection{Options: Options{PID: p.Process.Pid, Settings: settings(t.TempDir(), 4096, 0).settings}}
	late.process, err = check(p.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, late.endOld())
	require.NoError(t, late.createHelper(context.Background()))

	s := attachTo(t, p.Process.Pid, settings(t.TempDir(), 4096, 0))
	t.Cleanup(p.kill) // before its receiver is closed, which waits for the process
	before, err := s.control.read()
	require.NoError(t, err)
	threads := len(target.Threads(p.Process.Pid))
	require.NoError(t, late.process.Memory.PutUint32(late.scratch+atFilled, 1))
	require.Eventually(t, func() bool { return len(target.Threads(p.Process.Pid)) == threads-1 }, 5*time.Second, time.Millisecond)

	after, err := s.control.read()
	require.NoError(t, err)
	assert.Equal(t, before.Helper, after.Helper)
	assert.EqualValues(t, stateRecording, after.State)
	require.NoError(t, s.Snapshot())
	sum, err := s.Stop()
	require.NoError(t, err)
	assert.Zero(t, sum.Left)
	assert.Contains(t, p.end(t), "done\n")
}
