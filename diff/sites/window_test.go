package sites

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// minute is what a process did in a minute: its processor time in seconds, and the growth of its heap in MiB.
type minute struct{ cpu, grew float64 }

// recorded returns a snapshot at the start and one after each minute.
func recorded(minutes ...minute) (list []Moment) {
	at, cpu, heap := 0.0, 1.0, 5.0
	add := func() {
		m := Moment{At: at, Processor: cpu, ProcessorKnown: true}
		m.Heap.InuseBytes = int64(heap * (1 << 20))
		list = append(list, m)
		at += 60
	}
	add()
	for _, m := range minutes {
		cpu, heap = cpu+m.cpu, heap+m.grew
		add()
	}
	return list
}

// times returns n equal minutes.
func times(n int, m minute) []minute { return slices.Repeat([]minute{m}, n) }

func join(parts ...[]minute) []minute { return slices.Concat(parts...) }

var (
	busy = minute{cpu: 10, grew: 2}
	idle = minute{cpu: 0.2}
)

// requireReasons checks that each snapshot has one reason, and that the judged ones follow each other.
func requireReasons(t *testing.T, r Range) {
	t.Helper()
	require.Equal(t, r.Len(), r.Count(Judged))
	for i, why := range r.Why {
		require.Equal(t, i >= r.First && i <= r.Last, why == Judged, "snapshot %d", i)
	}
}

// TestAnIdleEndIsLeftOut: a series ends when the process stopped working, if that is long enough for a verdict, and
// if nothing happens to the heap afterwards.
func TestAnIdleEndIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		minutes []minute
		idle    int
	}{
		"a day and a night":               {join(times(24, busy), times(20, idle)), 20},
		"a day, a night and a day":        {join(times(20, busy), times(20, idle), times(20, busy)), 0},
		"two days and two nights":         {join(times(20, busy), times(10, idle), times(20, busy), times(10, idle)), 10},
		"a day":                           {times(40, busy), 0},
		"a start, and then nothing":       {join(times(14, busy), times(40, idle)), 0},
		"too few snapshots before":        {join(times(8, busy), times(8, idle)), 0},
		"half of the load":                {join(times(20, busy), times(20, minute{cpu: 5, grew: 1})), 0},
		"the heap shrinks while it idles": {join(times(24, busy), times(20, minute{cpu: 0.2, grew: -1})), 0},
		"a leak that needs no processor":  {join(times(24, busy), times(20, minute{cpu: 0.2, grew: 2})), 0},
		"a start at full speed, a day and a night": {
			join(times(3, minute{cpu: 200, grew: 2}), times(24, busy), times(14, idle)), 14,
		},
		"a job at night": {join(times(24, busy), times(5, idle), times(1, minute{cpu: 3}), times(14, idle)), 20},
		"nothing at all": {times(40, minute{}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := Window(recorded(c.minutes...), true, 0, 0)
			requireReasons(t, r)
			require.InDelta(t, c.idle, r.Count(Idle), 1)
			require.Zero(t, r.Count(AtExit))
		})
	}
}

// TestIdleTimeNeedsTheProcessorTime: a process that allocates nothing may compute.
func TestIdleTimeNeedsTheProcessorTime(t *testing.T) {
	list := recorded(join(times(24, busy), times(20, idle))...)
	require.Zero(t, Window(list, false, 0, 0).Count(Idle))
	list[7].ProcessorKnown = false
	require.Zero(t, Window(list, true, 0, 0).Count(Idle))
}

// TestTheLastSnapshotMayLackTheProcessorTime: the process ended before it was read.
func TestTheLastSnapshotMayLackTheProcessorTime(t *testing.T) {
	list := recorded(join(times(24, busy), times(20, idle))...)
	list[44].ProcessorKnown = false
	require.Equal(t, 20, Window(list, true, 0, 0).Count(Idle))
	list[43].ProcessorKnown = false
	require.Zero(t, Window(list, true, 0, 0).Count(Idle))
}

// TestTeardown: a timer that comes while the program frees its memory to exit is no evidence against a leak; one long
// before is, and so is a heap that changes afterwards.
func TestTeardown(t *testing.T) {
	for name, c := range map[string]struct {
		before  float64 // the exit, in minutes
		changed bool
		atExit  int
	}{
		"just before":         {0.05, false, 2},
		"long before":         {5, false, 1},
		"the program goes on": {0.05, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var minutes []minute
			for range 20 {
				minutes = append(minutes, minute{cpu: 10, grew: 10})
			}
			list := recorded(append(minutes, minute{cpu: 10, grew: -90}, minute{cpu: 10})...)
			n := len(list)
			list[n-1].Exit, list[n-1].At = true, list[n-2].At+60*c.before
			list[n-1].Heap = list[n-2].Heap
			if c.changed {
				list[n-1].Heap.AllocBytes++
			}
			r := Window(list, true, 0, 0)
			require.Equal(t, c.atExit, r.Count(AtExit))
		})
	}
}

// TestTheExitEndsNoJudgedSeries: the trigger tells which snapshots a program took when it exited, or the heap does,
// of which little is left.
func TestTheExitEndsNoJudgedSeries(t *testing.T) {
	for name, c := range map[string]struct {
		inuse  []float64 // MiB, after the 5 with which recorded begins
		exits  int       // the last snapshots that have the exit as their trigger
		atExit int
	}{
		"the heap is freed":                      {[]float64{10, 20, 30, 40, 50, 60, 70, 5}, 0, 1},
		"two snapshots of the end":               {[]float64{10, 20, 30, 40, 50, 60, 70, 5, 5}, 0, 2},
		"nothing is freed, and the trigger says": {[]float64{10, 20, 30, 40, 50, 60, 70, 70}, 1, 1},
		"the trigger says it of two":             {[]float64{10, 20, 30, 40, 50, 60, 70, 70, 65}, 2, 2},
		"the program runs":                       {[]float64{10, 20, 30, 40, 50, 60, 70, 80}, 0, 0},
		"emptied from time to time":              {[]float64{10, 50, 90, 12, 50, 90, 50, 11}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var minutes []minute
			before := 5.0
			for _, n := range c.inuse {
				minutes = append(minutes, minute{cpu: 10, grew: n - before})
				before = n
			}
			list := recorded(minutes...)
			for i := range c.exits {
				list[len(list)-1-i].Exit = true
			}
			r := Window(list, true, 0, 0)
			requireReasons(t, r)
			require.Equal(t, c.atExit, r.Count(AtExit))
			require.Equal(t, len(list)-c.atExit, r.Len())
		})
	}
}

// TestAnEmptyStartIsLeftOut: nothing grows before a program allocates for the first time.
func TestAnEmptyStartIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		first int64   // bytes in use in the first snapshot
		gap   float64 // seconds from there to the second one; the others follow every 60
		timed bool
		after int // snapshots after the first
		empty int
	}{
		"long before the others":      {0, 600, true, 12, 1},
		"just before the others":      {0, 60, true, 12, 0},
		"not empty":                   {64, 600, true, 12, 0},
		"the clock is not the time":   {0, 600, false, 12, 0},
		"too few would be left":       {0, 600, true, 7, 0},
		"as few as it takes are left": {0, 600, true, 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			list := recorded(times(c.after, busy)...)
			list[0].Heap.InuseBytes = c.first
			for i := range list[1:] {
				list[i+1].At += c.gap - 60
			}
			r := Window(list, c.timed, 0, 0)
			requireReasons(t, r)
			require.Equal(t, c.empty, r.Count(Empty))
			require.Equal(t, c.empty, r.First)
		})
	}
}

// TestOneImageIsJudged: the one with the most snapshots, the latest of equals, of those that were requested.
func TestOneImageIsJudged(t *testing.T) {
	list := recorded(times(29, busy)...)
	for i := range list {
		list[i].Image = min(i/10, 1) // ten snapshots, and twenty
	}
	r := Window(list, true, 0, 0)
	requireReasons(t, r)
	require.Equal(t, []int{10, 29, 10}, []int{r.First, r.Last, r.Count(OtherImage)})
	r = Window(list, true, 0, 15)
	requireReasons(t, r)
	require.Equal(t, []int{0, 9, 5, 15}, []int{r.First, r.Last, r.Count(OtherImage), r.Count(NotRequested)})
	r = Window(list, true, 5, 15)
	require.Equal(t, []int{10, 14}, []int{r.First, r.Last}, "the latest of equals")
}

// TestEachSnapshotHasOneReason: an exit after an idle time, after an empty start.
func TestEachSnapshotHasOneReason(t *testing.T) {
	list := recorded(join(times(24, busy), times(10, idle), times(1, minute{cpu: 1, grew: -50}))...)
	list[0].Heap.InuseBytes = 0
	for i := range list[1:] {
		list[i+1].At += 900
	}
	r := Window(list, true, 0, 0)
	requireReasons(t, r)
	require.Equal(t, []int{1, 10, 1}, []int{r.Count(Empty), r.Count(Idle), r.Count(AtExit)})
	require.Equal(t, len(list), r.Of())
}

// TestALoadThatEnded: a program that worked for a short part of the time is judged as a whole, and the load by itself on
// request.
func TestALoadThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		minutes []minute
		until   int
	}{
		"a load":            {join(times(8, busy), times(30, idle)), 8},
		"busy to the end":   {times(30, busy), 30},
		"a short load":      {join(times(2, busy), times(30, idle)), 32},
		"a pause":           {join(times(8, busy), times(10, idle), times(8, busy)), 26},
		"one idle snapshot": {join(times(8, busy), times(1, idle)), 9},
	} {
		var at, work []float64
		for _, m := range recorded(c.minutes...) {
			at, work = append(at, m.At), append(work, m.Processor)
		}
		require.Equal(t, c.until, loadedUntil(at, work, 6), name)
	}
}
