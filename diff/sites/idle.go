package sites

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// A process that does nothing does not leak, and its heap then looks as if the leak had stopped. So a
// series whose process idles to the end is judged up to where the idle time began. An idle time in
// the middle is left in: what follows it shows how the growth goes on.

const (
	// idlePace is the greatest rate of work of an idle process, as a share of its usual rate. The
	// engine's own work for the snapshots of a small service is up to 8 %.
	idlePace = 0.1
	// leastWorkingShare is the share of the intervals between snapshots in which the process works at
	// its usual rate or faster. A program that loads its data and then waits has less.
	leastWorkingShare = 0.4
	// leastWorking is the least number of snapshots before the idle time.
	leastWorking = 12
	// leastIdle is the least number of snapshots of the idle time. A shorter one may be a pause.
	leastIdle = 2
	// idleChange is the greatest change of the heap in the idle time, as a share of what it gained
	// before. A heap that shrinks or grows then is evidence.
	idleChange = 0.05
)

// lastWorking returns the last of the snapshots from first to last before the process idled to the
// end. It returns last if the process did not, or if its processor time or the time is not known.
func lastWorking(s *series.Series, first, last int) int {
	if last-first < leastWorking || !s.Clock.Source.IsTime() {
		return last
	}
	work := ProcessorTimes(s, first, last)
	known := first + len(work) - 1 // a process that is about to end has no time any more
	if known < last-1 || work[len(work)-1] == work[0] {
		return last
	}
	idle := first + idleFrom(s.Clock.At[first:known+1], work)
	if idle-first+1 < leastWorking || known-idle < leastIdle || !steady(s, first, idle, last) {
		return last
	}
	return idle
}

// idleFrom returns the index from which a process idled to the end: that of the last point if it did
// not. work is its processor time at each point, in the units of the time.
func idleFrom(at, work []float64) int {
	rate := func(from, to int) float64 { return (work[to] - work[from]) / max(at[to]-at[from], 1e-9) }
	end := len(at) - 1
	rates := make([]float64, end)
	for i := range rates {
		rates[i] = rate(i, i+1)
	}
	slices.Sort(rates)
	most := idlePace * rates[int((1-leastWorkingShare)*float64(end))]
	for i := range end {
		if rate(i, i+1) <= most && rate(i, end) <= most {
			return i
		}
	}
	return end
}

// LoadedUntil returns the first of the snapshots from first to last, but the least-th at the earliest, after which the
// process hardly worked to the end: a load may have ended. Unlike lastWorking, it asks neither for much time of work nor
// for a steady heap: it is good for advice only. It returns last if the process worked on, or if that is not known.
func LoadedUntil(s *series.Series, first, last, least int) int {
	work := ProcessorTimes(s, first, last)
	end := len(work) - 1
	if !s.Clock.Source.IsTime() || first+end < last {
		return last
	}
	at := s.Clock.At[first : last+1]
	rate := func(from, to int) float64 { return (work[to] - work[from]) / max(at[to]-at[from], 1e-9) }
	for i := least - 1; i <= end-leastIdle; i++ {
		most := idlePace * rate(0, i)
		if rate(i-1, i) > most && rate(i, i+1) <= most && rate(i, end) <= most {
			return first + i
		}
	}
	return last
}

// ProcessorTimes returns the processor time of the process by each of the snapshots from first to last, in
// seconds, up to the first snapshot of which it is not known.
func ProcessorTimes(s *series.Series, first, last int) (seconds []float64) {
	for i := first; i <= last; i++ {
		time, known := s.ProcessorTimeAt(i)
		if !known {
			break
		}
		seconds = append(seconds, time.Seconds())
	}
	return seconds
}

// steady reports whether the heap hardly changes from one snapshot to the last, compared with what it
// gained since the first.
func steady(s *series.Series, first, from, last int) bool {
	size := func(i int) float64 { return float64(s.Heads[i].Heap().InuseBytes) }
	gained := size(from) - size(first)
	for i := from + 1; i <= last; i++ {
		if math.Abs(size(i)-size(from)) > idleChange*gained {
			return false
		}
	}
	return true
}
