package interval

import (
	"cmp"
	"iter"
	"slices"
)

// Sweep visits the ends of all ranges in ascending order. It yields the position in the list of
// each range that is not empty twice: with opens true at its Lo, and with opens false at its Hi. At
// equal addresses, ends that close come before ends that open. A range therefore overlaps the
// ranges that are open when it opens, and those that open before it closes.
func Sweep(ranges []Range) iter.Seq2[int, bool] {
	return func(yield func(i int, opens bool) bool) {
		for _, e := range endsOf(ranges) {
			if !yield(int(e.i), e.opens) {
				return
			}
		}
	}
}

// end is one end of a range.
type end struct {
	addr  uint64
	i     int32 // position of the range
	opens bool
}

// endsOf returns the ends of all ranges, sorted for a sweep.
func endsOf(ranges []Range) []end {
	ends := make([]end, 0, 2*len(ranges))
	for i, r := range ranges {
		if !r.empty() {
			ends = append(ends, end{r.Lo, int32(i), true}, end{r.Hi, int32(i), false})
		}
	}
	slices.SortFunc(ends, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.i, b.i))
	})
	return ends
}

// rank sorts ends that close before ends that open.
func rank(e end) int {
	if e.opens {
		return 1
	}
	return 0
}
