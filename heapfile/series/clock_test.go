package series_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rising returns n snapshots whose allocated bytes grow.
func rising(n int) []string {
	var out []string
	for i := range n {
		out = append(out, heap(10+i, 1000*(i+1)))
	}
	return out
}

// touch sets the times of the files of a directory, in order, one step apart.
func touch(t *testing.T, dir string, step time.Duration) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.heap*"))
	require.NoError(t, err)
	for i, p := range paths {
		at := noon.Add(time.Duration(i) * step)
		require.NoError(t, os.Chtimes(p, at, at))
	}
}

func TestClockIsTheModificationTime(t *testing.T) {
	dir := put(t, serial(rising(3)...))
	touch(t, dir, 30*time.Second)
	c := open(t, series.Options{}, dir).Clock
	require.Equal(t, series.ClockModified, c.Source)
	require.Equal(t, []float64{0, 30, 60}, c.At)
	require.InDelta(t, 60, c.Span(), 0)
	require.True(t, noon.Equal(c.Times[0]))
	require.True(t, c.Source.IsTime())
}

func TestModificationTimesOfCopiesAreNotTheClock(t *testing.T) {
	for rule, step := range map[string]time.Duration{"all the same": 0, "as fast as a copy": time.Millisecond, "backward": -time.Second} {
		t.Run(rule, func(t *testing.T) {
			dir := put(t, serial(rising(3)...))
			touch(t, dir, step)
			s := open(t, series.Options{}, dir)
			require.Equal(t, series.ClockAllocated, s.Clock.Source)
			require.Equal(t, []float64{1000, 2000, 3000}, s.Clock.At)
			require.Nil(t, s.Clock.Times)
			require.False(t, s.Clock.Source.IsTime())
			require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnClock).Msg, "per byte allocated")
		})
	}
}

func TestClockIsTheIndexIfNothingElseIsKnown(t *testing.T) {
	text := heaptest.WithHeader("heap profile: 1: 8 [1: 8] @ heap_v2/1024", "1: 8 [1: 8] @ 0x1")
	dir := put(t, serial(text, text, text))
	touch(t, dir, 0)
	s := open(t, series.Options{}, dir)
	require.Equal(t, series.ClockIndex, s.Clock.Source)
	require.Equal(t, []float64{0, 1, 2}, s.Clock.At)
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnClock).Msg, "per snapshot")
}

func TestTimesInGzipHeadersPrecedeModificationTimes(t *testing.T) {
	files := map[string]string{}
	for i, text := range rising(3) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.ModTime = noon.Add(time.Duration(i) * time.Minute)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		files[fmt.Sprintf("p.%04d.heap.gz", i+1)] = b.String()
	}
	dir := put(t, files)
	touch(t, dir, time.Second)
	c := open(t, series.Options{}, dir).Clock
	require.Equal(t, series.ClockRecorded, c.Source)
	require.Equal(t, []float64{0, 60, 120}, c.At)
}

// manifestOf returns a manifest that lists the files, an hour apart.
func manifestOf(files ...string) string {
	text := fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema)
	for i, f := range files {
		at := noon.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		text += fmt.Sprintf(`{"snapshot":{"file":%q,"time":%q,"pid":4711,"trigger":"time","rss_bytes":%d}}`+"\n", f, at, 1000*(i+1))
	}
	return text + `{"mapping":{"path":"/usr/bin/program","build_id":"ab12"}}` + "\n"
}

func TestManifestPrecedesAllOtherClocks(t *testing.T) {
	files := serial(rising(2)...)
	files[manifest.Name] = manifestOf("p.0001.heap", "p.0002.heap")
	dir := put(t, files)
	touch(t, dir, time.Second)
	s := open(t, series.Options{}, dir)
	require.Equal(t, series.ClockManifest, s.Clock.Source)
	require.Equal(t, []float64{0, 3600}, s.Clock.At)
	require.Equal(t, int64(2000), *s.RSS[1])
	require.Equal(t, 4711, s.PID())
	require.Equal(t, map[string]string{"/usr/bin/program": "ab12"}, s.BuildIDs)
	require.Equal(t, []filename.Trigger{filename.TriggerTime, filename.TriggerTime}, s.Triggers)
}

func TestIncompleteManifestIsNotTheClock(t *testing.T) {
	files := serial(rising(3)...)
	files[manifest.Name] = manifestOf("p.0001.heap", "p.0003.heap")
	dir := put(t, files)
	touch(t, dir, time.Second)
	s := open(t, series.Options{}, dir)
	require.Equal(t, series.ClockModified, s.Clock.Source)
	require.Nil(t, s.RSS[1])
	require.Equal(t, int64(2000), *s.RSS[2])
}

func TestUnreadableManifestIsAWarning(t *testing.T) {
	files := serial(rising(2)...)
	files[manifest.Name] = "{}\n"
	s := open(t, series.Options{}, put(t, files))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnManifest).Msg, manifest.Name+":1: ")
	require.Nil(t, s.RSS)
}

func TestAllocatedBytesAreSummedAcrossRestarts(t *testing.T) {
	dir := put(t, serial(snapshot(100, "0x1", image(0x550000)), snapshot(300, "0x1", image(0x550000)), snapshot(50, "0x1", image(0x770000))))
	touch(t, dir, 0)
	require.Equal(t, []float64{100, 300, 350}, open(t, series.Options{}, dir).Clock.At)
}

// judged opens a series of snapshots with the given bytes in use and allocated, one step apart.
func judged(t *testing.T, step time.Duration, counts ...[2]int) *series.Series {
	var texts []string
	for _, c := range counts {
		texts = append(texts, heap(c[0], c[1]))
	}
	dir := put(t, serial(texts...))
	touch(t, dir, step)
	return open(t, series.Options{}, dir)
}

func TestTriggersAreInferred(t *testing.T) {
	for rule, c := range map[string]struct {
		step   time.Duration
		counts [][2]int
		want   filename.Trigger
	}{
		"the time between snapshots":   {30 * time.Second, [][2]int{{5, 10}, {9, 90}, {3, 95}, {4, 300}, {8, 310}, {2, 400}}, filename.TriggerTime},
		"the growth of the high water": {0, [][2]int{{100, 110}, {201, 400}, {301, 410}, {402, 900}, {502, 2000}, {603, 2100}}, filename.TriggerHighWater},
		"the bytes allocated":          {0, [][2]int{{50, 1000}, {20, 2001}, {70, 3002}, {10, 4001}, {30, 5003}, {20, 6004}}, filename.TriggerAllocated},
		"nothing":                      {0, [][2]int{{50, 1000}, {20, 1400}, {70, 3002}, {10, 3010}, {30, 9003}, {20, 9999}}, filename.TriggerUnknown},
		"too few snapshots":            {0, [][2]int{{100, 110}, {201, 400}, {301, 410}, {402, 900}}, filename.TriggerUnknown},
	} {
		t.Run(rule, func(t *testing.T) {
			s := judged(t, c.step, c.counts...)
			require.Len(t, s.Triggers, len(c.counts))
			for _, got := range s.Triggers {
				require.Equal(t, c.want.String(), got.String())
			}
			require.Equal(t, c.want == filename.TriggerHighWater, strings.Contains(fmt.Sprint(heaptest.Kinds(s.Warnings)), "high-water"))
		})
	}
}

// TestSampledSnapshotsHaveNoTrigger: a program wrote them, not HEAPPROFILE.
func TestSampledSnapshotsHaveNoTrigger(t *testing.T) {
	files := map[string]string{}
	for i, inuse := range []int{100, 200, 310, 405, 510, 600} {
		c := fmt.Sprintf("1: %d [1: %d]", inuse, inuse)
		files[fmt.Sprintf("p.%04d.heap", i+1)] = heaptest.WithHeader("heap profile: "+c+" @ heap_v2/524288", c+" @ 0x400001 0x400002")
	}
	s := open(t, series.Options{}, put(t, files))
	for _, got := range s.Triggers {
		require.Equal(t, "unknown", got.String())
	}
	require.NotContains(t, heaptest.Kinds(s.Warnings), "high-water")
}

func TestMissingNumbersAreAWarning(t *testing.T) {
	for rule, c := range map[string]struct {
		numbers []int
		want    string
	}{
		"one":                  {[]int{1, 3}, "1 number is missing from the series: 2"},
		"several":              {[]int{1, 2, 5, 7}, "3 numbers are missing from the series: 3–4, 6"},
		"five gaps are listed": {[]int{1, 3, 5, 7, 9, 11, 13}, "6 numbers are missing from the series: 2, 4, 6, 8, 10"},
	} {
		t.Run(rule, func(t *testing.T) {
			files := map[string]string{}
			for _, n := range c.numbers {
				files[fmt.Sprintf("p.%04d.heap", n)] = heap(n, n)
			}
			require.Equal(t, c.want, heaptest.Find(t, open(t, series.Options{}, put(t, files)).Warnings, heapfile.WarnMissing).Msg)
		})
	}
}

// TestNumbersThatTheRecorderRemovedAreNotMissing: those of this process, whatever was removed of
// others.
func TestNumbersThatTheRecorderRemovedAreNotMissing(t *testing.T) {
	withRemoved := func(removed ...string) string {
		text := `{"schema":"heaplapse.manifest/1"}` + "\n"
		for _, f := range removed {
			text += `{"dropped":{"file":"` + f + `","reason":"thinned"}}` + "\n"
		}
		return text
	}
	for rule, c := range map[string]struct {
		removed []string
		thinned int
		want    string
	}{
		"all":             {[]string{"p_7.0005.heap", "p_7.0002.heap", "p_7.0003.heap"}, 3, ""},
		"one is missing":  {[]string{"p_7.0002.heap", "p_7.0005.heap"}, 2, "1 number is missing from the series: 3"},
		"another process": {[]string{"p_8.0002.heap", "p_8.0003.heap", "p_7.0005.heap"}, 1, "2 numbers are missing from the series: 2–3"},
		"none":            {nil, 0, "3 numbers are missing from the series: 2–3, 5"},
	} {
		t.Run(rule, func(t *testing.T) {
			s := open(t, series.Options{}, put(t, map[string]string{
				"p_7.0001.heap": heap(1, 1), "p_7.0004.heap": heap(2, 2), "p_7.0006.heap": heap(3, 3), manifest.Name: withRemoved(c.removed...),
			}))
			require.Equal(t, c.thinned, s.Thinned())
			if c.want == "" {
				require.NotContains(t, heaptest.Kinds(s.Warnings), "missing-number")
				return
			}
			require.Equal(t, c.want, heaptest.Find(t, s.Warnings, heapfile.WarnMissing).Msg)
		})
	}
}

func TestSeriesMayBeginAtAnyNumber(t *testing.T) {
	s := open(t, series.Options{}, put(t, map[string]string{"p.0007.heap": heap(1, 1), "p.0008.heap": heap(2, 2)}))
	require.NotContains(t, heaptest.Kinds(s.Warnings), "missing-number")
}

func TestMixedSnapshotsAreAWarning(t *testing.T) {
	sampled := func(kind string) string {
		return heaptest.WithHeader("heap profile: 1: 8 [1: 8] @ "+kind, "1: 8 [1: 8] @ 0x1")
	}
	for rule, c := range map[string]struct{ a, b, want string }{
		"formats":           {heap(1, 1), sampled("heap_v2/1024"), "formats differ: "},
		"sampling periods":  {sampled("heap_v2/1024"), sampled("heap_v2/2048"), "sampling periods differ: "},
		"cumulative counts": {sampled("heap/1024"), heaptest.WithHeader("heap profile: 1: 8 [2: 16] @ heap/1024"), "only some of the snapshots have cumulative counts"},
		"versions":          {sortedRows(60, -1), sortedRows(60, 1), "different versions of gperftools: "},
	} {
		t.Run(rule, func(t *testing.T) {
			w := heaptest.Find(t, open(t, series.Options{}, put(t, serial(c.a, c.b))).Warnings, heapfile.WarnMixed)
			require.Contains(t, w.Msg, c.want)
			require.Contains(t, w.Msg, "p.0001.heap")
			require.Contains(t, w.Msg, "p.0002.heap")
		})
	}
}

// sortedRows returns a snapshot with n rows whose bytes fall or rise.
func sortedRows(n, step int) string {
	var rows []string
	total := 0
	for i := range n {
		bytes := 1000 + step*i
		total += bytes
		rows = append(rows, fmt.Sprintf("1: %d [1: %d] @ 0x1", bytes, bytes))
	}
	return heaptest.Exact(fmt.Sprintf("%d: %d [%d: %d]", n, total, n, total), rows...)
}

func TestSeriesOfOneFormatIsNotMixed(t *testing.T) {
	s := open(t, series.Options{}, put(t, serial(rising(3)...)))
	require.NotContains(t, heaptest.Kinds(s.Warnings), "mixed")
}

func TestSnapshotOfTheExitIsRecognized(t *testing.T) {
	for name, c := range map[string]struct {
		inuse []int
		exit  bool
	}{
		"freed at the end":       {[]int{10, 20, 30, 40, 50, 60, 70, 5}, true},
		"emptied repeatedly":     {[]int{10, 50, 90, 12, 50, 90, 50, 11}, false},
		"half of it freed":       {[]int{10, 20, 30, 40, 50, 60, 70, 40}, false},
		"too few snapshots":      {[]int{50, 60, 70, 5}, false},
		"down to an early level": {[]int{5, 5, 5, 50, 60, 70, 75, 30}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var counts [][2]int
			for i, n := range c.inuse {
				counts = append(counts, [2]int{n, 100 * (i + 1)})
			}
			s := judged(t, time.Minute, counts...)
			require.Equal(t, c.exit, s.AtExit(0, len(c.inuse)-1))
		})
	}
}
