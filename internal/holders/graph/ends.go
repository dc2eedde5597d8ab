package graph

import "github.com/heaplapse/heaplapse/internal/holders/blocks"

// word is a word of memory. Its address is 0 if there is none.
type word struct {
	address, value uint64
	to             uint32 // the edge that it is, if ok
	ok             bool
}

// precedes reports whether another word is the next one in memory.
func (w *word) precedes(next *word) bool { return w.address != 0 && w.address+wordSize == next.address }

// pointers calls a function for each word of a range that points to a block in use, and another one, if it is not
// nil, for each vector. A word that is most likely the end of a block is a doubtful pointer to the block behind.
func (g *Graph) pointers(s *scanner, r blocks.Range, f func(address uint64, to uint32), vectors func(vector)) {
	var last [4]word // a ring
	n := 0
	add := func(w word) {
		last[n%4] = w
		n++
		first, second, third, next := &last[n%4], &last[(n+1)%4], &last[(n+2)%4], &last[(n+3)%4]
		if third.ok {
			to := third.to
			if g.whole != nil && g.isEnd(first, second, third, next) {
				to = to&^kindBits | doubtful
			}
			f(third.address, to)
		}
		if vectors == nil {
			return
		}
		if v, ok := g.vectorAt(first, second, third, next); ok {
			vectors(v)
		}
	}
	s.words(r, g.span, func(address, value uint64) {
		to, ok := g.edge(value)
		add(word{address, value, to, ok})
	})
	add(word{})
}

// isEnd reports whether a word is the end of the block to which the words before it point, as in a std::vector that
// fills its block (start, end of the elements, end of the block) or in an iterator of a std::deque (element, start,
// end). The allocator must have nothing between blocks: otherwise the end would lie in the block itself.
func (g *Graph) isEnd(first, second, end, next *word) bool {
	if !second.precedes(end) || second.value > end.value {
		return false
	}
	three := first.precedes(second) && first.value < end.value
	twice := end.precedes(next) && end.value == next.value
	if !three && !twice {
		return false
	}
	b, ok := g.whole.Find(end.value - 1)
	if !ok || b.Free || b.End != end.value || second.value < b.Start {
		return false
	}
	if twice && second.value == b.Start {
		return true
	}
	return three && first.value >= b.Start && (first.value == b.Start || second.value == b.Start)
}
