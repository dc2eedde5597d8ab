package graph

// bits is a set of blocks by their numbers.
type bits []uint64

const wordBits = 64

func newBits(n int) bits { return make(bits, (n+wordBits-1)/wordBits) }

func (b bits) has(n uint32) bool { return b[n/wordBits]>>(n%wordBits)&1 != 0 }

func (b bits) set(n uint32) { b[n/wordBits] |= 1 << (n % wordBits) }

func (b bits) clear(n uint32) { b[n/wordBits] &^= 1 << (n % wordBits) }
