package growth

import (
	"time"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// silence is the time that a process ran on after the last snapshot, because it allocated too little for another
// one. A program with free lists of its own may stop calling malloc: its series ends with the growth.
type silence struct {
	duration time.Duration // 0 if there was none
	// at are the moments of the snapshots that are missing, as those of [series.Clock], and work is the processor time
	// in seconds by then. They are nil unless the process worked: an idle one would not have grown in any case.
	at, work []float64
}

const (
	// leastSilence is the least silence over the time that was judged.
	leastSilence = 0.5
	// workingPace is the least rate of work of a process that works, over its rate before.
	workingPace = 0.5
	// mostMissing bounds the snapshots that are missing.
	mostMissing = 1024
)

// silenceOf returns the silence after the judged snapshots; none for less than half of the time that was judged, and
// if there were more snapshots but those of the exit.
func silenceOf(s *scope) silence {
	last, clock := s.Last, s.series.Clock
	end, of := s.series.Ended()
	if end == nil || of != s.series.Process.PID || clock.Source != series.ClockManifest ||
		last+1+s.AtExit != s.Of || s.Len() < trend.MinPoints || !s.takenByAllocation(last) || s.hasLater(of) {
		return silence{}
	}
	silent, judged := end.Time.Sub(clock.Times[last]), clock.Times[last].Sub(clock.Times[s.First])
	if silent < time.Duration(leastSilence*float64(judged)) {
		return silence{}
	}
	out := silence{duration: silent}
	if s.byAllocation || s.work == nil || end.CPU == nil {
		return out
	}
	spent, before := time.Duration(*end.CPU).Seconds()-s.work[s.Len()-1], s.work[s.Len()-1]-s.work[0]
	if before > 0 && spent/silent.Seconds() >= workingPace*before/judged.Seconds() {
		out.fill(clock.At[last], s.work[s.Len()-1], spent, judged/time.Duration(s.Len()-1))
	}
	return out
}

// hasLater reports whether a process has snapshots after the judged ones whose files are missing or damaged. That of
// the exit does not count.
func (s *scope) hasLater(pid int) bool {
	for _, later := range s.series.Manifest.Snapshots {
		if later.PID == pid && later.Trigger != filename.TriggerExit.String() && later.Time.After(s.series.Clock.Times[s.Last]) {
			return true
		}
	}
	return false
}

// takenByAllocation reports whether an allocation triggered a snapshot. The timers of tcmalloc and jemalloc are checked
// when the program uses malloc.
func (s *scope) takenByAllocation(i int) bool {
	switch s.series.Triggers[i] {
	case filename.TriggerAllocated, filename.TriggerHighWater:
		return true
	case filename.TriggerTime:
		recording := s.series.Manifest.Recording
		return recording != nil && (recording.Engine == "tcmalloc" || recording.Engine == "jemalloc")
	}
	return false
}

// fill sets the moments of the missing snapshots: as far from each other as those before, up to the end. spent is the
// processor time from the last snapshot to the end.
func (q *silence) fill(last, work, spent float64, every time.Duration) {
	n := int(min(mostMissing, max(1, q.duration/max(1, every))))
	for i := range n {
		share := float64(i+1) / float64(n)
		q.at = append(q.at, last+share*q.duration.Seconds())
		q.work = append(q.work, work+share*spent)
	}
}

// extend adds the missing snapshots to a site or a heap: it did not grow.
func (q *silence) extend(p *trend.Points) {
	again := func(v []float64) []float64 {
		for range q.at {
			if v != nil {
				v = append(v, v[len(v)-1])
			}
		}
		return v
	}
	p.T, p.Work = append(p.T, q.at...), append(p.Work, q.work...)
	p.Live, p.Objects, p.Alloc = again(p.Live), again(p.Objects), again(p.Alloc)
}
