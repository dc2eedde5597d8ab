package sites

import (
	"cmp"

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
	// AtExit is the number of snapshots after Last that are left out because the program had freed
	// its memory to exit.
	AtExit int
}

// Len returns the number of snapshots.
func (r Range) Len() int { return r.Last - r.First + 1 }

// JudgedRange returns the range to judge among the snapshots with indices from ≤ i < to; to 0 is
// the end of the series. It takes the process image with the most snapshots, the latest of equals.
// It leaves out the last snapshots if the heap is far smaller there than before: the program had
// freed its memory to exit.
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
	switch {
	case s.AtExit(r.First, r.Last):
		r.AtExit = 1
	case r.Last > r.First && heads[r.Last].Heap() == heads[r.Last-1].Heap() && s.AtExit(r.First, r.Last-1):
		r.AtExit = 2 // the writer took two snapshots of the end
	}
	r.Last -= r.AtExit
	return r
}
