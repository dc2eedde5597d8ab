package sites

import (
	"cmp"

	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// Range is the snapshots of a series that are judged.
type Range struct {
	// First and Last are indices of snapshots; both are included.
	First, Last int
	// Of is the number of snapshots of the series.
	Of int
	// Images reports whether the series, or the part of it that was requested, has more than one
	// process image. Only one of them is judged.
	Images bool
	// Empty is the number of snapshots before First that are left out because the program had not
	// allocated anything, and did not until shortly before First: 0 or 1.
	Empty int
	// Idle is the number of snapshots after Last that are left out because the process hardly ran any
	// more.
	Idle int
	// AtExit is the number of snapshots after those that are left out because they were taken when the
	// program exited: it had freed some of its memory by then.
	AtExit int
}

// Len returns the number of snapshots.
func (r Range) Len() int { return r.Last - r.First + 1 }

// JudgedRange returns the range to judge among the snapshots with indices from ≤ i < to; to 0 is
// the end of the series. It takes the process image with the most snapshots, the latest of equals.
// It leaves out the snapshots of the exit, those of an idle time before it, and an empty one long before
// the others.
func JudgedRange(s *series.Series, from, to int) Range {
	heads := s.Heads
	to = cmp.Or(to, len(heads))
	r := Range{Of: len(heads)}
	for begin, end := range s.Images(from, to) {
		if end-begin >= r.Last-r.First || begin == from {
			r.First, r.Last = begin, end
		}
	}
	r.Images = r.Len() < to-from
	running := LastRunning(s, r.First, r.Last)
	working := lastWorking(s, r.First, running)
	r.AtExit, r.Idle, r.Last = r.Last-running, running-working, working
	started := firstStarted(s, r.First, r.Last)
	r.Empty, r.First = started-r.First, started
	return r
}

// LastRunning returns the last of the snapshots from first to last, of one process image, that was not
// taken when the program exited. The manifest, the name of the file, or the size of the heap show that.
func LastRunning(s *series.Series, first, last int) int {
	for last > first && last < len(s.Triggers) && s.Triggers[last] == filename.TriggerExit {
		last--
	}
	switch {
	case s.AtExit(first, last):
		return last - 1
	case last > first && s.Heads[last].Heap() == s.Heads[last-1].Heap() && s.AtExit(first, last-1):
		return last - 2 // the writer took two snapshots of the end
	}
	return last
}
