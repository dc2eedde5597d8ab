package sites

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// minute is what a process did in a minute: its processor time in seconds, and the growth of its heap in MiB.
type minute struct{ cpu, grew float64 }

// recorded returns a series with a snapshot at the start and one after each minute.
func recorded(minutes ...minute) *series.Series {
	s := &series.Series{Clock: series.Clock{Source: series.ClockManifest}}
	at, cpu, heap := 0.0, 1.0, 5.0
	add := func() {
		ns := int64(1e9 * cpu)
		head := &series.Head{Index: len(s.Heads)}
		head.Completeness.Estimate = heapfile.Counts{InuseBytes: int64(heap * (1 << 20))}
		s.Heads, s.CPU, s.Clock.At = append(s.Heads, head), append(s.CPU, &ns), append(s.Clock.At, at)
		at += 60
	}
	add()
	for _, m := range minutes {
		cpu, heap = cpu+m.cpu, heap+m.grew
		add()
	}
	return s
}

// times returns n equal minutes.
func times(n int, m minute) []minute {
	out := make([]minute, n)
	for i := range out {
		out[i] = m
	}
	return out
}

func join(parts ...[]minute) (out []minute) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var (
	busy = minute{cpu: 10, grew: 2}
	idle = minute{cpu: 0.2}
)

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
			s := recorded(c.minutes...)
			r := JudgedRange(s, 0, 0)
			require.InDelta(t, c.idle, r.Idle, 1)
			require.Equal(t, len(s.Heads), r.Len()+r.Idle)
			require.Zero(t, r.AtExit)
		})
	}
}

// TestIdleTimeNeedsTheProcessorTime: a process that allocates nothing may compute.
func TestIdleTimeNeedsTheProcessorTime(t *testing.T) {
	minutes := join(times(24, busy), times(20, idle))
	s := recorded(minutes...)
	s.CPU[7] = nil
	require.Zero(t, JudgedRange(s, 0, 0).Idle)
	s = recorded(minutes...)
	s.Clock.Source = series.ClockIndex
	require.Zero(t, JudgedRange(s, 0, 0).Idle)
}

// TestTheLastSnapshotMayLackTheProcessorTime: the process ended before it was read.
func TestTheLastSnapshotMayLackTheProcessorTime(t *testing.T) {
	s := recorded(join(times(24, busy), times(20, idle))...)
	s.CPU[44] = nil
	require.Equal(t, 20, JudgedRange(s, 0, 0).Idle)
	s.CPU[43] = nil
	require.Zero(t, JudgedRange(s, 0, 0).Idle)
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
		s := recorded(c.minutes...)
		require.Equal(t, c.until, LoadedUntil(s, 0, len(s.Heads)-1, 6), name)
	}
	s := recorded(times(30, idle)...)
	s.CPU[12] = nil
	require.Equal(t, 30, LoadedUntil(s, 0, 30, 6), "unknown")
}
