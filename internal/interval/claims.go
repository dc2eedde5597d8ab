package interval

import "slices"

// Claims gives each of some sorted addresses to the first claimant whose ranges hold it. An address
// that is taken costs later claimants next to nothing, so n ranges over m addresses take about n
// log m + m steps, however much they overlap.
type Claims struct {
	Addrs []uint64 // ascending
	Owner []int32  // by address: the claimant, or None
	Left  int      // number of addresses without an owner
	// next leads from an address towards the first one from there on that has no owner
	// (disjoint sets, with path halving).
	next []int32
}

// NewClaims returns claims to ascending addresses. It keeps the slice.
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

// Claim makes a claimant the owner of those addresses in its ranges that have none.
func (c *Claims) Claim(by int32, ranges ...Range) {
	for _, r := range ranges {
		first, _ := slices.BinarySearch(c.Addrs, r.Lo)
		for i := c.free(int32(first)); int(i) < len(c.Addrs) && c.Addrs[i] < r.Hi; i = c.free(i) {
			c.Owner[i], c.next[i] = by, i+1
			c.Left--
		}
	}
}

// free returns the first address from i on that has no owner.
func (c *Claims) free(i int32) int32 {
	for c.next[i] != i {
		c.next[i] = c.next[c.next[i]]
		i = c.next[i]
	}
	return i
}
