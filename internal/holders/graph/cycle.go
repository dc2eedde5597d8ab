package graph

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// maxOrdered limits the lost blocks whose cycles are looked for: ordering them needs 12 bytes each.
const maxOrdered = 1 << 22

// markCycles marks lost blocks that hold each other, and those to which they lead. unseen has these blocks. The first
// block of a way is on a cycle to which no other block leads: the last block that a depth-first search leaves is on
// such a one (Kosaraju's algorithm).
func (g *Graph) markCycles(unseen bits, count int, lost func(yield func(uint32))) {
	if count <= maxOrdered {
		order := g.leftBy(unseen, lost)
		for _, n := range slices.Backward(order) {
			if g.parents[n] == 0 {
				from := len(g.queue)
				g.visit(n, self(n))
				g.follow(from)
			}
		}
	}
	lost(func(n uint32) { g.visit(n, self(n)) })
}

// leftBy returns lost blocks in the order in which a depth-first search leaves them.
func (g *Graph) leftBy(unseen bits, lost func(yield func(uint32))) (order []uint32) {
	type visit struct{ n, edge uint32 }
	var stack []visit
	enter := func(n uint32) {
		if g.parents[n] == 0 && unseen.has(n) {
			unseen.clear(n)
			from, _ := g.rowsOf(n).of(n)
			stack = append(stack, visit{n, from})
		}
	}
	lost(func(n uint32) {
		enter(n)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			r := g.rowsOf(top.n)
			if _, end := r.of(top.n); top.edge == end {
				order, stack = append(order, top.n), stack[:len(stack)-1]
				continue
			}
			e := r.at(top.edge)
			if top.edge++; e&doubtful == 0 {
				enter(e &^ interior)
			}
		}
	})
	return order
}

const (
	// maxSearch limits the blocks that are looked at for a cycle, and maxTries those of which one is looked for.
	maxSearch = 1 << 12
	maxTries  = 1 << 6
)

// CycleWay returns the way from a cycle of lost blocks to the block that contains an address. It begins with the
// cycle: so many blocks, of which the last is the first again. Without a cycle, if there is none or it is long, it
// returns nothing.
func (g *Graph) CycleWay(address uint64) (way []blocks.Range, cycle int) {
	n, ok := g.edge(address)
	if n &^= kindBits; !ok || g.phases[n] != Cycle {
		return nil, 0
	}
	var behind []uint32 // the blocks behind the cycle, last one first
	for range maxTries {
		if found := g.cycleOf(n); found != nil {
			for _, m := range found {
				way = append(way, g.block(m).Range)
			}
			for _, m := range slices.Backward(behind) {
				way = append(way, g.block(m).Range)
			}
			return way, len(found)
		}
		parent := g.parents[n]
		if parent == self(n) || parent&isRoot != 0 {
			break
		}
		behind = append(behind, n)
		n = parent - 1
	}
	return nil, 0
}

// PointsToItself returns the number of pointers of the block that contains an address to its own start, or that of its
// object, and whether it is known to have an object.
func (g *Graph) PointsToItself(address uint64) (pointers int, isObject bool) {
	n, ok := g.edge(address)
	if n &^= kindBits; !ok {
		return 0, false
	}
	b := g.block(n).Range
	if g.before != nil {
		b.Start += uint64(g.before[n])
	}
	s := scanner{Memory: g.memory}
	s.start(b)
	s.words(b, b, func(_, value uint64) {
		if value == b.Start {
			pointers++
		}
	})
	return pointers, g.objects.has(n)
}

// cycleOf returns the shortest cycle of a block, which is its first and last one, or nil.
func (g *Graph) cycleOf(n uint32) []uint32 {
	parents := map[uint32]uint32{}
	queue := []uint32{n}
	for head := 0; head < len(queue) && len(queue) < maxSearch; head++ {
		at := queue[head]
		r := g.rowsOf(at)
		for i, end := r.of(at); i < end && len(queue) < maxSearch; i++ {
			e := r.at(i)
			to := e &^ interior
			if e&doubtful != 0 || g.phases[to] != Cycle {
				continue
			}
			if to == n {
				return closed(parents, n, at)
			}
			if _, seen := parents[to]; !seen {
				parents[to] = at
				queue = append(queue, to)
			}
		}
	}
	return nil
}

// closed returns the way from a block over parents to the last one before it.
func closed(parents map[uint32]uint32, n, last uint32) []uint32 {
	list := []uint32{n}
	for at := last; at != n; at = parents[at] {
		list = append(list, at)
	}
	list = append(list, n)
	slices.Reverse(list)
	return list
}
