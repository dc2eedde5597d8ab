package sites

import (
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// JudgedRange returns the [Window] of a series.
func JudgedRange(s *series.Series, from, to int) Range {
	return Window(moments(s), s.Clock.Source.IsTime(), from, to)
}

// LastRunning returns the last of the snapshots from first to last, of one process image, that was
// not taken when the program exited.
func LastRunning(s *series.Series, first, last int) int { return lastRunning(moments(s), first, last) }

// Last returns the last snapshot of a series that was not taken when the program exited. Its heap is
// the one that a user asks for who names the series.
func Last(s *series.Series) int {
	var first, last int
	for begin, end := range s.Images(0, len(s.Heads)) {
		first, last = begin, end
	}
	return LastRunning(s, first, last)
}

// moments are what the choice of the window takes from the snapshots.
func moments(s *series.Series) []Moment {
	out, shutdown := make([]Moment, len(s.Heads)), s.Shutdown()
	for i, head := range s.Heads {
		m := &out[i]
		m.At, m.Heap, m.Image = s.Clock.At[i], head.Heap(), head.Image
		processor, known := s.ProcessorTimeAt(i)
		m.Processor, m.ProcessorKnown = processor.Seconds(), known
		m.Exit = i < len(s.Triggers) && s.Triggers[i] == filename.TriggerExit ||
			!shutdown.IsZero() && s.Clock.Times[i].After(shutdown)
	}
	return out
}

// ProcessorTimes returns the processor time of the process by each of the snapshots from first to
// last, in seconds, up to the first snapshot of which it is not known.
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

// LoadedUntil returns the first of the snapshots from first to last, but the least-th at the
// earliest, after which the process hardly worked to the end: a load may have ended. Unlike
// [Window], it asks neither for much time of work nor for a steady heap: it is good for advice
// only. It returns last if the process worked on, or if that is not known.
func LoadedUntil(s *series.Series, first, last, least int) int {
	work := ProcessorTimes(s, first, last)
	if !s.Clock.Source.IsTime() || first+len(work) <= last {
		return last
	}
	return first + loadedUntil(s.Clock.At[first:last+1], work, least)
}

// loadedUntil is LoadedUntil for the times and processor times of all snapshots, in seconds.
func loadedUntil(at, work []float64, least int) int {
	end := len(work) - 1
	rate := func(from, to int) float64 { return (work[to] - work[from]) / max(at[to]-at[from], 1e-9) }
	for i := least - 1; i <= end-leastIdle; i++ {
		most := idlePace * rate(0, i)
		if rate(i-1, i) > most && rate(i, i+1) <= most && rate(i, end) <= most {
			return i
		}
	}
	return end
}
