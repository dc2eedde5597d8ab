package growth

import (
	"time"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// silence is the time that a process ran on after its last snapshot. A program with free lists of its own may stop
// calling malloc: tcmalloc and jemalloc then take no snapshots, and the series ends with the growth.
type silence struct {
	duration time.Duration // 0 if there was none
	// timed reports whether a timer was due.
	timed bool
	// still reports whether the process worked meanwhile, and its resident set did not grow: then what grew before
	// the last snapshot may have stopped.
	still bool
}

const (
	// A silence is at least this share of the time from the first to the last snapshot.
	leastSilence = 0.5
	// It is at least this many times as long as the longest time between two snapshots: a program may allocate again
	// after a pause, as it did before.
	longerThanPauses = 2
	// A process that works has at least this share of its rate of work before.
	workingPace = 0.5
	// A process does not grow if its resident set gains less than this share of what the heap would gain at its rate.
	stillGrowth = 0.25
	// If the heap grew by more than this many mean steps from the last snapshot to that of the exit, the process went
	// on to allocate.
	stepsToExit = 2
)

// silenceOf returns the silence after the judged snapshots, if they are the last ones of the process but that of the
// exit.
func silenceOf(s *scope) (out silence) {
	last, times := s.Last, s.series.Clock.Times
	end := s.endOfProcess()
	if end == nil || last+1+s.Count(sites.AtExit) != s.Of() || s.Len() < verdict.MinPoints {
		return out
	}
	first := s.firstOfImage()
	silent, recorded := end.Time.Sub(times[last]), times[last].Sub(times[first])
	if silent < time.Duration(leastSilence*float64(recorded)) || silent < longerThanPauses*s.longestPause(first) {
		return out
	}
	timed, ok := s.takenByAllocation(last)
	if !ok || s.hasLater(s.series.Process.PID) || s.grewByTheExit() {
		return out
	}
	still := timed && s.worked(end, silent) && s.stayedResident(end, silent)
	return silence{silent, timed, still}
}

// endOfProcess returns how the process ended; nil if that or the times of the snapshots are not known, or if the
// recording had problems.
func (s *scope) endOfProcess() *manifest.End {
	end, of := s.series.Ended()
	if end == nil || of != s.series.Process.PID || s.series.Clock.Source != series.ClockManifest {
		return nil
	}
	if whole := s.series.RecordingEnd(); whole != nil && whole.Error != "" {
		return nil
	}
	return end
}

// firstOfImage is the first snapshot of the judged process image.
func (s *scope) firstOfImage() int {
	first := s.First
	for first > 0 && s.series.Heads[first-1].Image == s.series.Heads[first].Image {
		first--
	}
	return first
}

// longestPause is the longest time between two snapshots, from the first one on.
func (s *scope) longestPause(first int) (longest time.Duration) {
	times := s.series.Clock.Times
	for i := first; i < s.Last; i++ {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return longest
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

// hasLater reports whether the manifest has snapshots of a process after the judged ones, except that of the exit. If a
// file has several entries, the last one counts.
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

// grewByTheExit reports whether a snapshot of the exit shows that the process went on to allocate.
func (s *scope) grewByTheExit() bool {
	size := func(i int) float64 { return float64(s.series.Heads[i].Heap().InuseBytes) }
	step := max(0, size(s.Last)-size(s.First)) / float64(s.Len()-1)
	for i := s.Last + 1; i < s.Of(); i++ {
		if size(i)-size(s.Last) > stepsToExit*step {
			return true
		}
	}
	return false
}

// worked reports whether the process is known to have worked in the silence.
func (s *scope) worked(end *manifest.End, silent time.Duration) bool {
	if s.byAllocation || s.work == nil || end.CPU == nil {
		return false
	}
	last := s.Len() - 1
	before, spent := s.work[last]-s.work[0], time.Duration(*end.CPU).Seconds()-s.work[last]
	return before > 0 && spent/silent.Seconds() >= workingPace*before/s.judged().Seconds()
}

// stayedResident reports whether the resident set is known not to have grown in the silence as the heap did before.
func (s *scope) stayedResident(end *manifest.End, silent time.Duration) bool {
	rss, known := s.series.ResidentAt(s.Last)
	if !known || end.RSS == nil {
		return false
	}
	heads := s.series.Heads
	gained := float64(heads[s.Last].Heap().InuseBytes - heads[s.First].Heap().InuseBytes)
	return float64(*end.RSS-rss) <= stillGrowth*max(0, gained)*silent.Seconds()/s.judged().Seconds()
}

// judged is the time from the first to the last judged snapshot.
func (s *scope) judged() time.Duration {
	return s.series.Clock.Times[s.Last].Sub(s.series.Clock.Times[s.First])
}
