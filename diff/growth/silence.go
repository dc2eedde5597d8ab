package growth

import (
	"time"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// silence is the time that a process ran on after the last snapshot. A program with free lists of its own may stop
// calling malloc: tcmalloc and jemalloc then take no snapshots, and the series ends with the growth.
type silence struct {
	duration time.Duration // 0 if there was none
	// timed reports whether a timer was due, so that the process allocated nothing, or next to nothing.
	timed bool
	// at are the moments of the snapshots that the timer did not take, as those of [series.Clock], and work is the
	// processor time in seconds by then. They are nil unless the process worked: an idle one would not have grown in
	// any case.
	at, work []float64
}

const (
	// leastSilence is the least silence over the time that was judged.
	leastSilence = 0.5
	// longerThanPauses is the least silence over the longest time between two snapshots: a program may allocate again
	// after a pause, as it did before.
	longerThanPauses = 2
	// workingPace is the least rate of work of a process that works, over its rate before.
	workingPace = 0.5
	// mostMissing bounds the snapshots that count as missing, over those that were taken.
	mostMissing = 3
	// stepsToExit is the growth of the heap from the last snapshot to that of the exit, over its mean step before, from
	// which on the process allocated for longer than until the next snapshot was due.
	stepsToExit = 2
)

// silenceOf returns the silence after the judged snapshots, if they are the last ones of the process but that of the
// exit.
func silenceOf(s *scope) (out silence) {
	last, clock := s.Last, s.series.Clock
	end := s.endOfProcess()
	if end == nil || clock.Source != series.ClockManifest || last+1+s.AtExit != s.Of || s.Len() < trend.MinPoints {
		return out
	}
	silent, judged := end.Time.Sub(clock.Times[last]), clock.Times[last].Sub(clock.Times[s.First])
	if silent < time.Duration(leastSilence*float64(judged)) || silent < longerThanPauses*s.longestPause() {
		return out
	}
	timed, ok := s.takenByAllocation(last)
	if !ok || s.hasLater(s.series.Process.PID) || s.grewByTheExit() {
		return out
	}
	out.duration, out.timed = silent, timed
	if timed && !s.byAllocation && s.work != nil && end.CPU != nil {
		out.fill(s, time.Duration(*end.CPU).Seconds(), judged)
	}
	return out
}

// takenByAllocation reports whether a snapshot was taken when the program allocated, timed because a timer was due. The
// timers of tcmalloc and jemalloc are checked when the program uses malloc.
func (s *scope) takenByAllocation(i int) (timed, ok bool) {
	switch s.series.Triggers[i] {
	case filename.TriggerAllocated:
		return false, true
	case filename.TriggerTime:
		recording := s.series.Manifest.Recording
		return true, recording != nil && (recording.Engine == "tcmalloc" || recording.Engine == "jemalloc")
	}
	return false, false
}

// endOfProcess returns how the process ended; nil if that is not known, or if the recording had problems.
func (s *scope) endOfProcess() *manifest.End {
	end, of := s.series.Ended()
	if end == nil || of != s.series.Process.PID || end.Error != "" {
		return nil
	}
	if whole := s.series.RecordingEnd(); whole != nil && whole.Error != "" {
		return nil
	}
	return end
}

// longestPause is the longest time between two judged snapshots.
func (s *scope) longestPause() (longest time.Duration) {
	times := s.series.Clock.Times
	for i := s.First; i < s.Last; i++ {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return longest
}

// hasLater reports whether a process has snapshots after the judged ones whose files are missing or damaged. That of
// the exit does not count. The last record of a file is valid.
func (s *scope) hasLater(pid int) bool {
	later, exit, last := map[string]bool{}, filename.TriggerExit.String(), s.series.Clock.Times[s.Last]
	for _, r := range s.series.Manifest.Snapshots {
		later[r.File] = r.PID == pid && r.Trigger != exit && r.Time.After(last)
	}
	for _, is := range later {
		if is {
			return true
		}
	}
	return false
}

// grewByTheExit reports whether a snapshot of the exit shows that the process allocated after the last judged one.
func (s *scope) grewByTheExit() bool {
	size := func(i int) float64 { return float64(s.series.Heads[i].Heap().InuseBytes) }
	step := (size(s.Last) - size(s.First)) / float64(s.Len()-1)
	for i := s.Last + 1; i < s.Of; i++ {
		if size(i)-size(s.Last) > stepsToExit*step {
			return true
		}
	}
	return false
}

// fill sets the moments of the missing snapshots if the process worked: as far from each other as those before, up to
// the end. cpu is the processor time in seconds by then.
func (q *silence) fill(s *scope, cpu float64, judged time.Duration) {
	n := s.Len()
	spent, before := cpu-s.work[n-1], s.work[n-1]-s.work[0]
	if before <= 0 || spent/q.duration.Seconds() < workingPace*before/judged.Seconds() {
		return
	}
	every := max(1, judged/time.Duration(n-1))
	missing := min(mostMissing*n, max(1, int(q.duration/every)))
	for i := range missing {
		share := float64(i+1) / float64(missing)
		q.at = append(q.at, s.series.Clock.At[s.Last]+share*q.duration.Seconds())
		q.work = append(q.work, s.work[n-1]+share*spent)
	}
}

// extend adds the missing snapshots to a site, a heap or a resident set that was seen often enough: it did not grow.
func (q *silence) extend(p *trend.Points) {
	if q.at == nil || len(p.T) < trend.MinPoints {
		return
	}
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
