package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// vector is what a std::vector says of the block that it fills: which words are elements. The words behind them
// are what was there before: the vector had more elements, or the block belonged to another owner.
type vector struct {
	block uint32 // its number
	end   uint32 // of the elements, in words from the start of the block
}

// perVector is the memory of a vector, in that of an edge. Its words are as many edges at least.
const perVector = 2

// vectorAt returns the vector whose words (begin, end, end of the capacity) are the first three of four words. If they
// may be those of a std::deque, all words of the block are elements. So they are if the first two words are equal: that
// may be an empty vector, or a cursor at the start of an array, or two registers.
func (g *Graph) vectorAt(begin, end, limit, next *word) (vector, bool) {
	n := begin.to
	switch {
	case !begin.ok || n&kindBits != 0 || !begin.precedes(end) || !end.precedes(limit):
		return vector{}, false
	case end.value <= begin.value || limit.value < end.value:
		return vector{}, false
	case end.value != limit.value && end.to&^interior != n: // most are seen to be none here
		return vector{}, false
	}
	b := g.block(n)
	if b.Start != begin.value || !fills(b.Range, limit.value) || b.Size()/wordSize > math.MaxUint32 {
		return vector{}, false
	}
	last := end.value
	if limit.precedes(next) && (b.Contains(next.value) || next.value == b.End) {
		last = b.End // the nodes of a std::deque of libc++ are between the second and the third of four words
	}
	return vector{n, uint32((last - b.Start + wordSize - 1) / wordSize)}, true
}

// fills reports whether what ends at an address was allocated as a block. An allocator rounds sizes up: glibc to
// multiples of 16 with a word of its own, jemalloc by a fifth at most.
func fills(b blocks.Range, end uint64) bool {
	const smallest = 32 // of glibc
	return end <= b.End && b.End-end <= max(smallest+2*wordSize, b.Size()/5)
}

// doubtVectors makes the pointers behind the elements of vectors doubtful. It uses parents, which must be 0, as memory.
func (g *Graph) doubtVectors(roots []Root) {
	var list []vector
	for i := range roots {
		if r := roots[i].Range; r.Size() > 0 {
			g.scan.start(r)
			g.pointers(&g.scan, r, func(uint64, uint32) {}, func(v vector) { list = append(list, v) })
		}
		if len(list) > 2*g.nodes {
			list = longest(list)
		}
	}
	for i := range g.rows {
		list, g.rows[i].vectors = append(list, g.rows[i].vectors...), nil
	}
	g.doubtBehind(longest(list))
}

// longest returns the vectors by block. If several seem to have a block, as the copy of one does that was there before
// it grew, the one with most elements counts.
func longest(list []vector) []vector {
	slices.SortFunc(list, func(a, b vector) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(b.end, a.end))
	})
	return slices.CompactFunc(list, func(a, b vector) bool { return a.block == b.block })
}

// elements returns the range of a vector's block that has its elements, and what is behind.
func (g *Graph) elements(v vector) (elements, behind blocks.Range) {
	b := g.block(v.block)
	end := min(b.Start+wordSize*uint64(v.end), b.End)
	return blocks.Range{Start: b.Start, End: end}, blocks.Range{Start: end, End: b.End}
}

// doubtBehind makes pointers doubtful that only words behind the elements of vectors have. The vectors must be in the
// order of their blocks.
func (g *Graph) doubtBehind(list []vector) {
	// Most have nothing there: then the elements need not be read.
	s := sweep{Graph: g, region: -1}
	list = slices.DeleteFunc(list, func(v vector) bool {
		_, behind := g.elements(v)
		none := true
		s.edges(behind, func(uint32) { none = false })
		return none
	})
	seen := g.parents // by block: the vector in which a pointer to it was seen last, twice, and where
	s.region = -1
	for i, v := range list {
		elements, behind := g.elements(v)
		inElements, inBehind := 2*uint32(i)+1, 2*uint32(i)+2
		s.edges(elements, func(to uint32) { seen[to] = inElements })
		s.edges(behind, func(to uint32) {
			if seen[to] != inElements {
				seen[to] = inBehind
			}
		})
		g.doubt(v.block, func(to uint32) bool { return seen[to] == inBehind })
	}
	clear(seen)
}

// doubtParts makes pointers of blocks doubtful that only some parts of them have, by address, and reports whether there
// are any. It uses parents, which must be 0, as memory.
func (g *Graph) doubtParts(of map[blocks.Range][]blocks.Range) (changed bool) {
	s := sweep{Graph: g}
	turn := uint32(0)
	for b, parts := range of {
		n, ok := g.edge(b.Start)
		if n &^= kindBits; !ok {
			continue
		}
		live, dead := turn+1, turn+2
		turn += 2
		isLive := func(to uint32) { g.parents[to] = live }
		isDead := func(to uint32) {
			if g.parents[to] != live {
				g.parents[to] = dead
			}
		}
		s.region = -1
		for _, p := range parts {
			s.edges(blocks.Range{Start: b.Start, End: p.Start}, isLive)
			s.edges(p, isDead)
			b.Start = max(b.Start, p.End)
		}
		s.edges(b, isLive)
		changed = g.doubt(n, func(to uint32) bool { return g.parents[to] == dead }) || changed
	}
	return changed
}

// sweep reads parts of blocks by ascending addresses.
type sweep struct {
	*Graph
	region int // the index of that which is read, or -1
}

// edges calls a function for each pointer in a part of a block.
func (s *sweep) edges(r blocks.Range, f func(to uint32)) {
	if r.Size() < wordSize {
		return
	}
	if region, i := s.set.Index(r.Start); i != s.region {
		s.scan.start(blocks.Range{Start: r.Start, End: region.End})
		s.region = i
	}
	s.scan.words(r, s.span, func(_, value uint64) {
		if to, ok := s.edge(value); ok {
			f(to &^ kindBits)
		}
	})
}

// doubt makes the pointers of a block to others doubtful, and reports whether some were not.
func (g *Graph) doubt(n uint32, isDoubtful func(to uint32) bool) (changed bool) {
	r := g.rowsOf(n)
	for i, end := r.of(n); i < end; i++ {
		if to := r.at(i) &^ kindBits; isDoubtful(to) {
			changed = changed || r.at(i)&doubtful == 0
			r.set(i, to|doubtful)
		}
	}
	return changed
}
