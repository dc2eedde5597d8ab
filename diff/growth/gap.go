package growth

import (
	"time"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// gap is the time that a process ran on after its last snapshot. A program with free lists of its
// own may stop calling malloc: tcmalloc and jemalloc then take no snapshots, and the series ends
// with the growth.
type gap struct {
	duration time.Duration // 0 if there was none
	// timed reports whether a timer was due.
	timed bool
	// still reports whether the process worked meanwhile, and its resident set did not grow: then what grew before
	// the last snapshot may have stopped.
	still bool
}

const (
	// A gap is at least this share of the time from the first to the last snapshot.
	leastGap = 0.5
	// It is at least this many times as long as the longest time between two snapshots: a program may allocate again
	// after a pause, as it did before.
	longerThanPauses = 2
	// A process that works has at least this share of its rate of work before.
	leastPace = 0.5
	// A process does not grow if its resident set gains less than this share of what the heap would gain at its rate.
	stillGrowth = 0.25
	// If the heap grew by more than this many mean steps from the last snapshot to that of the exit, the process went
	// on to allocate.
	stepsToExit = 2
)

// gapAfter returns the gap after the judged snapshots, if they are the last ones of the process but
// that of the exit.
func gapAfter(w *window) (none gap) {
	last, times := w.Last, w.series.Clock.Times
	end := w.endOfProcess()
	if end == nil || last+1+w.Count(sites.AtExit) != w.Of() || w.Len() < verdict.MinPoints {
		return none
	}
	first := w.firstOfImage()
	length, recorded := end.Time.Sub(times[last]), times[last].Sub(times[first])
	if length < time.Duration(leastGap*float64(recorded)) || length < longerThanPauses*w.longestPause(first) {
		return none
	}
	timed, ok := w.takenByAllocation(last)
	if !ok || w.hasLater(w.series.Process.PID) || w.grewByTheExit() {
		return none
	}
	still := timed && w.worked(end, length) && w.stayedResident(end, length)
	return gap{length, timed, still}
}

// endOfProcess returns how the process ended; nil if that or the times of the snapshots are not known, or if the
// recording had problems.
func (w *window) endOfProcess() *manifest.End {
	end, of := w.series.Ended()
	if end == nil || of != w.series.Process.PID || w.series.Clock.Source != series.ClockManifest {
		return nil
	}
	if whole := w.series.RecordingEnd(); whole != nil && whole.Error != "" {
		return nil
	}
	return end
}

// firstOfImage is the first snapshot of the judged process image.
func (w *window) firstOfImage() int {
	first := w.First
	for first > 0 && w.series.Heads[first-1].Image == w.series.Heads[first].Image {
		first--
	}
	return first
}

// longestPause is the longest time between two snapshots, from the first one on.
func (w *window) longestPause(first int) (longest time.Duration) {
	times := w.series.Clock.Times
	for i := first; i < w.Last; i++ {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return longest
}

// takenByAllocation reports whether a snapshot was taken when the program allocated, timed because a timer was due. The
// timers of tcmalloc and jemalloc are checked when the program uses malloc.
func (w *window) takenByAllocation(i int) (timed, ok bool) {
	switch w.series.Triggers[i] {
	case filename.TriggerAllocated:
		return false, true
	case filename.TriggerTime:
		recording := w.series.Manifest.Recording
		return true, recording != nil && (recording.Engine == "tcmalloc" || recording.Engine == "jemalloc")
	}
	return false, false
}

// hasLater reports whether the manifest has snapshots of a process after the judged ones, except that of the exit. If a
// file has several entries, the last one counts.
func (w *window) hasLater(pid int) bool {
	later, exit, last := map[string]bool{}, filename.TriggerExit.String(), w.series.Clock.Times[w.Last]
	for _, r := range w.series.Manifest.Snapshots {
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
func (w *window) grewByTheExit() bool {
	size := func(i int) float64 { return float64(w.series.Heads[i].Heap().InuseBytes) }
	step := max(0, size(w.Last)-size(w.First)) / float64(w.Len()-1)
	for i := w.Last + 1; i < w.Of(); i++ {
		if size(i)-size(w.Last) > stepsToExit*step {
			return true
		}
	}
	return false
}

// worked reports whether the process is known to have worked in the gap.
func (w *window) worked(end *manifest.End, length time.Duration) bool {
	if w.processor == nil || end.CPU == nil {
		return false
	}
	last := w.Len() - 1
	before, spent := w.processor[last]-w.processor[0], time.Duration(*end.CPU).Seconds()-w.processor[last]
	return before > 0 && spent/length.Seconds() >= leastPace*before/w.judgedTime().Seconds()
}

// stayedResident reports whether the resident set is known not to have grown in the gap as the heap
// did before.
func (w *window) stayedResident(end *manifest.End, length time.Duration) bool {
	rss, known := w.series.ResidentAt(w.Last)
	if !known || end.RSS == nil {
		return false
	}
	heads := w.series.Heads
	gained := float64(heads[w.Last].Heap().InuseBytes - heads[w.First].Heap().InuseBytes)
	return float64(*end.RSS-rss) <= stillGrowth*max(0, gained)*length.Seconds()/w.judgedTime().Seconds()
}

// judgedTime is the time from the first to the last judged snapshot.
func (w *window) judgedTime() time.Duration {
	return w.series.Clock.Times[w.Last].Sub(w.series.Clock.Times[w.First])
}
