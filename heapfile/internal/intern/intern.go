// Package intern stores each sequence of addresses once and numbers the sequences in order of first
// appearance.
package intern

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// Set interns sequences of addresses. It is an open-addressing hash table over one arena. The hash
// is seeded, so that crafted input cannot cause collisions. The zero value is an empty set. A Set
// is not safe for concurrent use; a [View] of it is.
type Set[A ~uint64] struct {
	seed   uint64
	slots  []uint32 // number + 1, 0 is free; the length is a power of two
	hashes []uint64 // by number
	salts  []uint64 // by number
	view   View[A]
}

// View is the content of a [Set] at one moment. A Set only appends, so a View may be read while the
// Set grows.
type View[A ~uint64] struct {
	ends  []int // by number: the end of its addresses in arena
	arena []A
}

// Len returns the number of sequences; they are numbered from 0 to Len()-1.
func (v View[A]) Len() int { return len(v.ends) }

// Addrs returns a sequence. The caller must not change it.
func (v View[A]) Addrs(number uint32) []A {
	begin := 0
	if number > 0 {
		begin = v.ends[number-1]
	}
	return v.arena[begin:v.ends[number]:v.ends[number]]
}

// View returns the present content.
func (s *Set[A]) View() View[A] { return s.view }

// Len returns the number of sequences.
func (s *Set[A]) Len() int { return s.view.Len() }

// Addrs returns a sequence. The caller must not change it.
func (s *Set[A]) Addrs(number uint32) []A { return s.view.Addrs(number) }

// Intern returns the number of a sequence, adding it if it is new. Sequences with different salts
// are different.
func (s *Set[A]) Intern(salt uint64, addrs []A) (number uint32, added bool) {
	if 2*(len(s.hashes)+1) > len(s.slots) {
		s.grow()
	}
	h := s.hash(salt, addrs)
	slot := s.lookup(h, salt, addrs)
	if n := s.slots[slot]; n != 0 {
		return n - 1, false
	}
	s.slots[slot] = uint32(len(s.hashes)) + 1
	return s.add(h, salt, addrs), true
}

// Find returns the number of a sequence, if the set has it.
func (s *Set[A]) Find(salt uint64, addrs []A) (number uint32, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	n := s.slots[s.lookup(s.hash(salt, addrs), salt, addrs)]
	return n - 1, n != 0
}

// lookup returns the slot of a sequence, or the free one where it belongs.
func (s *Set[A]) lookup(h, salt uint64, addrs []A) uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		n := s.slots[i]
		if n == 0 {
			return i
		}
		if s.hashes[n-1] == h && s.salts[n-1] == salt && slices.Equal(s.view.Addrs(n-1), addrs) {
			return i
		}
	}
}

func (s *Set[A]) add(h, salt uint64, addrs []A) uint32 {
	v := &s.view
	if cap(v.arena)-len(v.arena) < len(addrs) { // doubles: append grows large slices by a quarter, which copies too often
		v.arena = append(make([]A, 0, 2*cap(v.arena)+len(addrs)+1<<16), v.arena...)
	}
	v.arena = append(v.arena, addrs...)
	v.ends = append(v.ends, len(v.arena))
	s.hashes = append(s.hashes, h)
	s.salts = append(s.salts, salt)
	return uint32(len(v.ends) - 1)
}

func (s *Set[A]) grow() {
	if s.slots == nil {
		s.seed = maphash.Bytes(maphash.MakeSeed(), nil) | 1
	}
	s.slots = make([]uint32, max(1024, 2*len(s.slots)))
	mask := uint64(len(s.slots) - 1)
	for number, h := range s.hashes {
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(number) + 1
	}
}

func (s *Set[A]) hash(salt uint64, addrs []A) uint64 {
	h := s.seed ^ salt
	for _, a := range addrs {
		hi, lo := bits.Mul64(h^uint64(a), 0x9e3779b97f4a7c15^s.seed)
		h = hi ^ lo
	}
	hi, lo := bits.Mul64(h^uint64(len(addrs)), 0xd6e8feb86659fd93)
	return hi ^ lo
}
