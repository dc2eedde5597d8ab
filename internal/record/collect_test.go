//go:build linux

package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/record/proc"
	"github.com/heaplapse/heaplapse/internal/record/written"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestChildrenAreCounted also while the program has written no snapshot, which under jemalloc takes it
// until its end. The child of a shell is the program itself.
func TestChildrenAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		follow bool
		args   []string
		want   int
	}{
		{"perl", false, []string{"-e", "fork; sleep 1000"}, 1},
		{"perl", true, []string{"-e", "fork; sleep 1000"}, 0},
		{"sh", false, []string{"-c", "sleep 1000 & wait"}, 0},
	} {
		cmd := exec.Command(testutil.Need(t, c.name), c.args...)
		require.NoError(t, cmd.Start())
		var children []int
		for len(children) == 0 {
			time.Sleep(5 * time.Millisecond)
			children = proc.Children(cmd.Process.Pid)
		}
		p := &Plan{prefix: filepath.Join(t.TempDir(), "p")}
		p.FollowChildren = c.follow
		collector := newCollector(p, nil)
		collector.root = cmd.Process.Pid
		collector.checkProcesses()
		require.Len(t, collector.unrecorded, c.want, "%v", c)
		for _, pid := range append(children, cmd.Process.Pid) {
			process, err := os.FindProcess(pid)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
		}
		_ = cmd.Wait() // it was killed
	}
}

// TestKeepBytes: a recording stays below the limit. The process whose snapshots take most space is
// thinned, evenly; the first and the last snapshot of each stay, and at least 12.
func TestKeepBytes(t *testing.T) {
	dir := t.TempDir()
	out, err := manifest.Create(dir)
	require.NoError(t, err)
	p := &Plan{prefix: filepath.Join(dir, "p")}
	p.KeepBytes = 100_000
	c := newCollector(p, out)
	start := time.Unix(1e9, 0)
	kept := func(pid int) (times []int, bytes int64) {
		for _, s := range c.procs[pid].images[0].series {
			info, err := os.Stat(s.Path)
			require.NoError(t, err, "what is kept exists")
			times, bytes = append(times, int(s.Time.Sub(start).Seconds())), bytes+info.Size()
		}
		return times, bytes
	}
	const large, small, huge = 7, 8, 9
	add := func(pid, second int, size int64) {
		if c.procs[pid] == nil {
			c.procs[pid] = &process{pid: pid, images: []*image{{}}}
		}
		path := filepath.Join(dir, fmt.Sprintf("p_%d.%04d.heap", pid, second))
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
		img := c.procs[pid].images[0]
		img.series = append(img.series, &snapshot{Snapshot: written.Snapshot{
			Path: path, Size: size, Time: start.Add(time.Duration(second) * time.Second),
		}})
		c.bytes += size
		c.thin(img)
	}
	for second := range 200 {
		add(large, second, 4000)
		add(small, second, 50)
	}
	times, ofLarge := kept(large)
	require.Equal(t, 0, times[0])
	require.Equal(t, 199, times[len(times)-1])
	for i := 1; i < len(times); i++ {
		require.LessOrEqual(t, times[i]-times[i-1], 32, "%v", times)
	}
	times, ofSmall := kept(small)
	require.Len(t, times, 200)
	require.LessOrEqual(t, ofLarge+ofSmall, p.KeepBytes)
	require.Greater(t, ofLarge+ofSmall, p.KeepBytes-2*4000, "no more is removed than necessary")
	require.Equal(t, ofLarge+ofSmall, c.bytes)
	for second := range 20 {
		add(huge, second, 90_000)
	}
	for _, pid := range []int{large, small, huge} {
		times, _ := kept(pid)
		require.Len(t, times, leastKept, "process %d", pid)
	}
}
