// Package interval finds the range that holds an address among many ranges that may overlap.
//
// # Contract
//
// An [Index] is exact for any input. If several ranges hold an address, it returns the last of them
// in the list. The order of the list therefore defines precedence: callers sort by time of writing,
// by start address, or put file mappings after anonymous memory. For n ranges, building takes O(n
// log n) time and O(n) memory, and a lookup takes O(log n) time, however much the ranges overlap.
//
// [Claims] is for addresses that are known in advance: it finds the first of many ranges that holds
// each of them. [Sweep] is for questions about all ranges that overlap.
//
// # How it works
//
// The ends of the ranges divide the address space into at most 2n segments. All addresses of a
// segment have the same answer. [New] builds a [Claims] of the starts of the segments, and the
// ranges claim them in reverse order. A lookup is a binary search for the segment.
//
// The rejected alternative is an augmented interval tree. It finds all ranges that hold an address,
// in time proportional to their number. No caller needs more than one range.
package interval

import "slices"

// Range is the half-open range of addresses [Lo, Hi). It is empty if Hi <= Lo.
type Range struct{ Lo, Hi uint64 }

func (r Range) empty() bool { return r.Hi <= r.Lo }

// None is the position that means no range.
const None = -1

// Index finds the last range in a list that holds an address. It is immutable. The zero value is an
// index of no ranges.
type Index struct {
	starts []uint64 // start of each segment, ascending
	owner  []int32  // position of the range of each segment, or None
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

// Find returns the position in the list of the last range that holds an address. ok reports whether
// there is one.
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
