package sites

import (
	"cmp"
	"fmt"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// JudgedRange picks, of the snapshots from and up to to (exclusive; 0 is the end), the process image with most, the latest of equals, and
// leaves out a last dump that is far smaller than the one before: the program had freed its
// memory to exit. The notes say what was left out.
func JudgedRange(s *series.Series, from, to int) (first, last int, notes []string) {
	heads := s.Heads
	to = cmp.Or(to, len(heads))
	for begin, end := range s.Images(from, to) {
		if end-begin >= last-first || begin == from {
			first, last = begin, end
		}
	}
	if last-first+1 < len(heads) {
		why := ", as asked for"
		if last-first+1 < to-from {
			why = ": one process image"
		}
		notes = append(notes, fmt.Sprintf("judged on snapshots %d to %d of %d%s", first+1, last+1, len(heads), why))
	}
	switch {
	case s.AtExit(first, last):
		notes = append(notes, "the last snapshot was left out"+exiting)
		last--
	case last > first && s.Heads[last].Heap() == s.Heads[last-1].Heap() && s.AtExit(first, last-1):
		notes = append(notes, "the last two snapshots were left out"+exiting)
		last -= 2 // the program's end was seen twice
	}
	return first, last, notes
}

// exiting is why a snapshot is left out.
const exiting = ": the heap had shrunk to less than half, as when a program exits"
