package interval

import "slices"

// Claims assigns each of a sorted list of addresses to the first claimant whose ranges hold it.
// Later claims skip addresses that have an owner, so n ranges over m addresses take about n log m +
// m steps, however much the ranges overlap.
type Claims struct {
	Addrs []uint64 // ascending
	Owner []int32  // the claimant of each address, or None
	Left  int      // number of addresses without an owner
	// next is a disjoint-set forest with path halving. The root of an address is the first address
	// at or after it that has no owner.
	next []int32
}

// NewClaims returns a Claims in which no address has an owner. The addresses must be in ascending
// order. NewClaims keeps the slice.
func NewClaims(addrs []uint64) *Claims {
	c := &Claims{Addrs: addrs, Owner: make([]int32, len(addrs)), Left: len(addrs), next: make([]int32, len(addrs)+1)}
	for i := range c.Owner {
		c.Owner[i] = None
	}
	for i := range c.next {
		c.next[i] = int32(i)
	}
	return c
}

// Claim makes by the owner of all addresses in the ranges that have no owner.
func (c *Claims) Claim(by int32, ranges ...Range) {
	for _, r := range ranges {
		first, _ := slices.BinarySearch(c.Addrs, r.Lo)
		for i := c.free(int32(first)); int(i) < len(c.Addrs) && c.Addrs[i] < r.Hi; i = c.free(i) {
			c.Owner[i], c.next[i] = by, i+1
			c.Left--
		}
	}
}

// free returns the index of the first address at or after index i that has no owner.
func (c *Claims) free(i int32) int32 {
	for c.next[i] != i {
		c.next[i] = c.next[c.next[i]]
		i = c.next[i]
	}
	return i
}
