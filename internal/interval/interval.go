// Package interval finds the range that holds an address among many ranges that may overlap.
//
// # Contract
//
// An [Index] is exact for any input: where several ranges hold an address, the one that comes last
// in the list is the answer. Callers choose what that means by the order of the list: the range
// that was written last, the one that starts last, a file before anonymous memory. Building takes
// O(n log n) time and O(n) memory for n ranges, a lookup takes O(log n) time, however much the
// ranges overlap.
//
// [Claims] answers the reverse question, for addresses that are known beforehand: the first of many
// ranges that holds each of them. [Sweep] is for questions about all ranges that overlap.
//
// # How it works
//
// The ends of the ranges divide the address space into at most 2n segments within which the answer
// is the same. [New] takes the start of each segment as an address to claim and lets the ranges
// claim them, the last one first. A lookup is a binary search for the segment.
//
// An augmented interval tree was the alternative. It also finds all ranges that hold an address,
// but takes time in proportion to their number; no caller needs more than one of them.
package interval

import "slices"

// Range holds the addresses from Lo up to, but not including, Hi. It is empty if Hi is not above
// Lo.
type Range struct{ Lo, Hi uint64 }

func (r Range) empty() bool { return r.Hi <= r.Lo }

// None is the position that stands for no range.
const None = -1

// Index finds the last of the ranges that hold an address. It is immutable. The zero value is an
// index of no ranges.
type Index struct {
	starts []uint64 // of the segments, ascending
	owner  []int32  // by segment: position of the range, or None
}

// New returns an index of fewer than 1<<31 ranges.
func New(ranges []Range) Index {
	starts := make([]uint64, 0, 2*len(ranges))
	for _, r := range ranges {
		if !r.empty() {
			starts = append(starts, r.Lo, r.Hi)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	claims := NewClaims(starts)
	for i, r := range slices.Backward(ranges) {
		claims.Claim(int32(i), r)
	}
	return Index{starts, claims.Owner}
}

// Find returns the position of the last range that holds an address. ok is false if there is none.
func (x Index) Find(addr uint64) (i int, ok bool) {
	n, found := slices.BinarySearch(x.starts, addr)
	if !found {
		n--
	}
	if n < 0 || x.owner[n] == None {
		return None, false
	}
	return int(x.owner[n]), true
}
