//go:build linux && amd64

package blocktest

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
)

// Snapshot takes a snapshot of a program, and closes it when the test ends. A thread of a busy program may wait for
// memory from the kernel, and cannot be stopped then: it tries again.
func Snapshot(t testing.TB, cmd *exec.Cmd) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
	for i := 0; i < 20 && isBusy(err); i++ {
		s, err = snapshot.Take(cmd.Process.Pid, snapshot.Options{})
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// isBusy reports whether a process could not be copied at this moment.
func isBusy(err error) bool {
	var refusal *snapshot.Refusal
	return errors.As(err, &refusal) && refusal.Remedy == snapshot.TryAgain
}
