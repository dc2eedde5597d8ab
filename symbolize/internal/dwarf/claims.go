package dwarf

import "slices"

// claims gives each of some sorted addresses to the first that claims a range holding it. However much
// ranges overlap, an address is given once and passed over at next to no cost afterwards: n claims
// over m addresses take about n log m + m steps.
type claims struct {
	addrs []uint64
	owner []int32 // by address: who claimed it, or unclaimed
	// next leads from an address towards the first one from there on that is unclaimed
	// (disjoint sets, with path halving).
	next []int32
	left int // unclaimed addresses
}

const unclaimed = -1

func newClaims(addrs []uint64) *claims {
	c := &claims{addrs: addrs, owner: make([]int32, len(addrs)), next: make([]int32, len(addrs)+1), left: len(addrs)}
	for i := range addrs {
		c.owner[i] = unclaimed
	}
	for i := range c.next {
		c.next[i] = int32(i)
	}
	return c
}

func (c *claims) claim(ranges []addrRange, by int32) {
	for _, r := range ranges {
		first, _ := slices.BinarySearch(c.addrs, r.lo)
		for i := c.free(int32(first)); int(i) < len(c.addrs) && c.addrs[i] < r.hi; i = c.free(i) {
			c.owner[i], c.next[i] = by, i+1
			c.left--
		}
	}
}

// free is the first unclaimed address from i on.
func (c *claims) free(i int32) int32 {
	for c.next[i] != i {
		c.next[i] = c.next[c.next[i]]
		i = c.next[i]
	}
	return i
}
