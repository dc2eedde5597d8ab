//go:build linux && amd64

package blocktest

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/snapshot"
)

// Snapshot takes a snapshot of a program, and closes it when the test ends.
func Snapshot(t testing.TB, cmd *exec.Cmd) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Take(cmd.Process.Pid, snapshot.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
