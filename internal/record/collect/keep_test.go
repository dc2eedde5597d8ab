//go:build linux

package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/record/written"
)

// TestAWeekOfSnapshots takes a snapshot every 30 s for a week, which makes 20,000. The collector
// keeps the limit, spaces the snapshots evenly and records the removed ones. Its memory does not
// grow.
func TestAWeekOfSnapshots(t *testing.T) {
	t.Parallel()
	const n, keep, pid = 20_000, 50, 1 << 29 // no process has this number
	c := newTestCollector(t, Options{Root: pid, Keep: keep})
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		name := fmt.Sprintf("p_%d.%04d.heap", pid, i+1)
		path := filepath.Join(c.dir, name)
		require.NoError(t, os.WriteFile(path, heapText(i), 0o600))
		at := start.Add(time.Duration(i) * 30 * time.Second)
		require.NoError(t, os.Chtimes(path, at, at))
		c.take(name, true)
		require.LessOrEqual(t, len(c.procs[pid].images[0].series), keep)
		require.LessOrEqual(t, len(c.seen), keep)
	}
	s, err := series.Open([]string{c.dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Len(t, s.Heads, keep)
	assert.Equal(t, n-keep, s.Thinned())
	assert.Equal(t, 1, s.Heads[0].File.Seq)
	assert.Equal(t, n, s.Heads[keep-1].File.Seq)
	for i := 1; i < keep; i++ {
		assert.LessOrEqual(t, s.Heads[i].File.Seq-s.Heads[i-1].File.Seq, 2*n/(keep-1)+1)
	}
	for _, w := range s.Warnings {
		assert.NotEqual(t, heapfile.WarnMissing, w.Kind, w.Msg)
	}
}

// TestKeepBytes: a recording stays below the limit. The process whose snapshots take most space is
// thinned, evenly; the first and the last snapshot of each stay, and at least 12.
func TestKeepBytes(t *testing.T) {
	const limit = 100_000
	c := newTestCollector(t, Options{KeepBytes: limit})
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
		path := filepath.Join(c.dir, fmt.Sprintf("p_%d.%04d.heap", pid, second))
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
	require.LessOrEqual(t, ofLarge+ofSmall, int64(limit))
	require.Greater(t, ofLarge+ofSmall, int64(limit)-2*4000, "no more is removed than necessary")
	require.Equal(t, ofLarge+ofSmall, c.bytes)
	for second := range 20 {
		add(huge, second, 90_000)
	}
	for _, pid := range []int{large, small, huge} {
		times, _ := kept(pid)
		require.Len(t, times, leastKept, "process %d", pid)
	}
}

func TestTeardownStart(t *testing.T) {
	series := func(inuse ...int64) (out []*snapshot) {
		for i, v := range inuse {
			out = append(out, &snapshot{Snapshot: written.Snapshot{Time: time.Unix(int64(i), 0), InuseBytes: v}})
		}
		return out
	}
	for _, c := range []struct {
		what   string
		series []*snapshot
		from   int
	}{
		{"one snapshot before that of the exit", series(10, 20, 30, 40, 50, 5, 4), 5},
		{"only the snapshot of the exit", series(10, 20, 30, 40, 50, 60, 4), 6},
		{"a constant heap", series(10, 20, 30, 40, 50, 60, 60), 7},
		{"a small decrease", series(10, 20, 30, 40, 50, 45, 40), 7},
		{"one snapshot", series(10), 1},
	} {
		assert.Equal(t, c.from, teardownStart(c.series), c.what)
	}
}

// worker adds n snapshots of a worker that has ended, with an events file and a frames file.
func (c *Collector) worker(t *testing.T, pid, n int, every time.Duration) {
	t.Helper()
	for _, suffix := range []string{written.EventsSuffix, manifest.FramesSuffix} {
		path := written.ImageName(c.o.Prefix, pid, 0, suffix)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for seq := range n {
		name := fmt.Sprintf("p_%d.%04d.heap", pid, seq+1)
		path, at := filepath.Join(c.dir, name), time.Unix(1e9, 0).Add(time.Duration(seq)*every)
		require.NoError(t, os.WriteFile(path, heapText(1000), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
		c.take(name, true)
	}
	c.addLook(Running{PID: pid}, &answer.Look{})
	c.checkProcesses() // it has ended
	c.checkProcesses() // nothing of it has come since
}

// TestRecycledWorkers: a server that replaces its workers all the time fills neither the disk nor the memory.
// A worker with one snapshot leaves no file.
func TestRecycledWorkers(t *testing.T) {
	t.Parallel()
	const root, least = 1 << 29, 2 // no process has this number
	c := newTestCollector(t, Options{Root: root})
	c.programs["/bin/prog"] = true
	for i := range 3 * maxRecycled {
		c.worker(t, root+1+i, least+i%2, time.Second)
	}
	c.worker(t, 2*root, 1, time.Second)
	c.addLook(Running{PID: 2 * root}, &answer.Look{}) // one that has taken long
	require.Len(t, c.procs, maxRecycled)
	require.Len(t, c.recycled, maxRecycled)
	require.Equal(t, map[int]int64{root: 2 * maxRecycled}, c.removed, "a fork that runs another program is not counted")
	c.worker(t, 2*root+1, least, time.Millisecond)
	c.countShort()
	require.Equal(t, map[int]int64{root: 2*maxRecycled + 1}, c.removed, "one that has worked for a short time is")
	for _, p := range c.recycled {
		require.Equal(t, least+1, p.kept(), "those with the most snapshots")
	}
	require.Equal(t, root+3*maxRecycled, c.recycled[maxRecycled-1].pid, "the newest one")
	require.Len(t, c.seen, maxRecycled*(least+1))
	for pattern, want := range map[string]int{
		"*.heap": len(c.seen), "*" + written.EventsSuffix: maxRecycled, "*" + manifest.FramesSuffix: maxRecycled,
		"*" + manifest.HoldersSuffix: maxRecycled,
	} {
		files, err := filepath.Glob(filepath.Join(c.dir, pattern))
		require.NoError(t, err)
		require.Len(t, files, want, pattern)
	}
	require.Len(t, c.looks, maxRecycled)
}

// TestKeepBytesOfRecycledWorkers: whole workers are removed where thinning is not enough.
func TestKeepBytesOfRecycledWorkers(t *testing.T) {
	const root, limit = 1 << 29, 5 * leastKept * 100
	c := newTestCollector(t, Options{Root: root, KeepBytes: limit})
	c.programs["/bin/prog"] = true
	for i := range 20 {
		c.worker(t, root+1+i, leastKept, time.Second)
		require.LessOrEqual(t, c.bytes, int64(limit)+int64(leastKept*200), "one that runs is not removed")
	}
	require.NotEmpty(t, c.removed)
	require.NotEmpty(t, c.recycled)
}
