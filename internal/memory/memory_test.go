package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

func TestCheck(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const size = 64 << 20
	l := NewLimit(used() + size)
	require.Equal(t, l.max, debug.SetMemoryLimit(-1))
	require.NoError(t, l.Check())
	for range 10 { // garbage does not count
		require.Len(t, make([]byte, size/2), size/2)
		require.NoError(t, l.Check())
	}
	held := make([]byte, 2*size)
	err := l.Check()
	require.ErrorIs(t, err, ErrLimit)
	require.Regexp(t, `^needs more than \d+\.?\d* MiB of memory$`, err.Error())
	runtime.KeepAlive(held)
	NewLimit(math.MaxInt64)
	require.Equal(t, l.max, debug.SetMemoryLimit(-1), "a lower limit stays")
}

func TestGroupLimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"none": {fstest.MapFS{}, 0},
		"version 2": {fstest.MapFS{
			"proc/self/cgroup":               file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max":   file("max\n"),
			"sys/fs/cgroup/a/memory.max":     file("3000\n"),
			"sys/fs/cgroup/a/b/c/memory.max": file("1\n"),
		}, 3000},
		"version 2, a namespace of its own": {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("4000\n")}, 4000},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("12:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/docker/1\n"),
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": file("5000\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          file("9223372036854771712\n"),
		}, 5000},
		"version 1, a namespace of its own": {fstest.MapFS{
			"proc/self/cgroup": file("4:memory:/docker/1\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("6000\n"),
		}, 6000},
		"version 1, no limit": {fstest.MapFS{
			"proc/self/cgroup": file("4:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, 0},
		"malformed": {fstest.MapFS{"proc/self/cgroup": file("x\n0::/../..\n"), "sys/fs/cgroup/memory.max": file("-1\n")}, 0},
	} {
		require.Equal(t, c.want, groupLimit(c.files), name)
	}
}

func TestAvailable(t *testing.T) {
	testutil.Linux(t)
	require.Greater(t, Available(), int64(64<<20))
	require.LessOrEqual(t, Available(), physical())
}
