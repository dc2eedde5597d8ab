package sites

import (
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// JudgedRange returns the [Window] of a series.
func JudgedRange(s *series.Series, from, to int) Range {
	return Window(moments(s), s.Clock.Source.IsTime(), from, to)
}

// LastRunning returns the last of the snapshots from first to last, of one process image, that was not
// taken when the program exited.
func LastRunning(s *series.Series, first, last int) int { return lastRunning(moments(s), first, last) }

// moments are what the choice of the window takes from the snapshots.
func moments(s *series.Series) []Moment {
	out := make([]Moment, len(s.Heads))
	for i, head := range s.Heads {
		m := &out[i]
		m.At, m.Heap, m.Image = s.Clock.At[i], head.Heap(), head.Image
		processor, known := s.ProcessorTimeAt(i)
		m.Processor, m.ProcessorKnown = processor.Seconds(), known
		m.Exit = i < len(s.Triggers) && s.Triggers[i] == filename.TriggerExit
	}
	return out
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
