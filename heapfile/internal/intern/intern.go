// Package intern stores each sequence of addresses once and numbers the sequences in order of first
// appearance.
package intern

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// Set interns sequences of addresses. It is an open-addressing hash table over an arena. The hash
// is seeded, so that crafted input cannot cause collisions. The zero value is an empty set. A Set
// is not safe for concurrent use; a [View] of it is.
type Set[A ~uint64] struct {
	seed   uint64
	slots  []uint32 // number + 1, 0 is free; the length is a power of two
	hashes []uint64 // by number
	salts  []uint64 // by number
	last   []A      // the used part of the last chunk
	view   View[A]
}

// View is the content of a [Set] at one moment. A Set only appends, so a View may be read while the
// Set grows.
type View[A ~uint64] struct {
	places []place // by number
	chunks [][]A   // of the arena. They are not moved: to copy a large arena would take its size again
}

// place is where a sequence is: in one chunk.
type place struct{ chunk, begin, n uint32 }

// chunkSize is the number of addresses of a chunk. A longer sequence has a chunk of its own.
const chunkSize = 1 << 16

// Len returns the number of sequences; they are numbered from 0 to Len()-1.
func (v View[A]) Len() int { return len(v.places) }

// Addrs returns a sequence. The caller must not change it.
func (v View[A]) Addrs(number uint32) []A {
	p := v.places[number]
	if p.n == 0 {
		return nil
	}
	return v.chunks[p.chunk][p.begin : p.begin+p.n : p.begin+p.n]
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

// Growth returns about the number of bytes that the next new sequence makes the set allocate,
// without those of its addresses.
func (s *Set[A]) Growth() (bytes int64) {
	const slot, number = 4, 12 + 8 + 8 // bytes of an entry of slots, and of those by number
	n := int64(len(s.hashes))
	if 2*(n+1) > int64(len(s.slots)) {
		bytes += 2 * slot * int64(len(s.slots))
	}
	if len(s.hashes) == cap(s.hashes) {
		bytes += number * (n + n/4)
	}
	return bytes
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
	s.view.places = append(s.view.places, s.store(addrs))
	s.hashes = append(s.hashes, h)
	s.salts = append(s.salts, salt)
	return uint32(len(s.hashes) - 1)
}

// store copies a sequence to the arena.
func (s *Set[A]) store(addrs []A) place {
	if len(addrs) == 0 {
		return place{}
	}
	if len(addrs) > cap(s.last)-len(s.last) {
		s.last = make([]A, 0, max(chunkSize, len(addrs)))
		s.view.chunks = append(s.view.chunks, s.last[:cap(s.last)])
	}
	p := place{uint32(len(s.view.chunks) - 1), uint32(len(s.last)), uint32(len(addrs))}
	s.last = append(s.last, addrs...)
	return p
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
