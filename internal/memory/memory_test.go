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
	runtime.GC()
	l := NewLimit((used()+size)*10/9 + programPages)
	require.Equal(t, l.heap, debug.SetMemoryLimit(-1))
	require.NoError(t, l.Check(0))
	for range 10 { // garbage does not count
		require.Len(t, make([]byte, size/2), size/2)
		require.NoError(t, l.Check(0))
	}
	held := make([]byte, 2*size)
	err := l.Check(0)
	require.ErrorIs(t, err, ErrLimit)
	require.Regexp(t, `^needs more than \d+\.?\d* MiB of memory$`, err.Error())
	runtime.KeepAlive(held)
	require.NoError(t, l.Check(size/2))
	require.ErrorIs(t, l.Check(2*size), ErrLimit, "it is not allocated yet")
	NewLimit(math.MaxInt64)
	require.Equal(t, l.heap, debug.SetMemoryLimit(-1), "a lower limit stays")
}

// TestGuard: memory that is taken at once, without a call of Check, ends the process.
func TestGuard(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if _, ok := resident(); !ok {
		t.Skip("the resident memory of this process is not known")
	}
	const size = 64 << 20
	runtime.GC()
	l := NewLimit((used()+size)*10/9 + programPages)
	ended := make(chan error, 1)
	l.Guard(func(err error) {
		select {
		case ended <- err:
		default:
		}
	})
	held := make([]byte, 4*size)
	for i := range held {
		held[i] = 1
	}
	require.ErrorIs(t, <-ended, ErrLimit)
	runtime.KeepAlive(held)
	runtime.KeepAlive(l)
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
