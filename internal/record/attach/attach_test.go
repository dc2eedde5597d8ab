//go:build linux && amd64

package attach

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAttachAndDetach(t *testing.T) {
	p := run(t, compile(t, "busy.c"), "2", "leak")
	dir := t.TempDir()
	s := attachTo(t, p.Process.Pid, settings(dir, 4096, 50))
	t.Logf("%+v", s.Started)
	time.Sleep(500 * time.Millisecond)
	require.NoError(t, s.Snapshot())
	sum, err := s.Stop()
	require.NoError(t, err)
	t.Logf("%+v", sum)
	assert.Zero(t, sum.Left)
	names := s.snapshots(t)
	assert.NotEmpty(t, names)
	t.Log(len(names), readFile(t, names[len(names)-1])[:600])
	assert.Equal(t, "done\n", p.end(t))
}
