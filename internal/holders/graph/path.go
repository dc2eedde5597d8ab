package graph

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Path tells what holds a block.
type Path struct {
	// Phase is that in which the block was reached.
	Phase Phase
	// Blocks leads from the first block to the one that was asked for. If there are too many, the first ones are in
	// First, then Skipped are left out, and Blocks has the last ones.
	Blocks, First []blocks.Range
	Skipped       int
	// Root is the index of the root that holds the first block, or -1 if the block is lost.
	Root int
	// Address is that of the word of the root, or its index in Values.
	Address uint64
}

// keptFirst is the number of first blocks of a path that has too many.
const keptFirst = 100

// Path returns what holds the block in use that contains an address. Blocks has at most so many.
func (g *Graph) Path(address uint64, most int) (Path, bool) {
	n, ok := g.edge(address)
	if !ok {
		return Path{}, false
	}
	n &^= kindBits
	p := Path{Phase: g.phases[n], Root: -1}
	var first [keptFirst]uint32 // a ring
	left := 0
	for {
		if len(p.Blocks) < most {
			p.Blocks = append(p.Blocks, g.block(n).Range)
		} else {
			first[left%keptFirst] = n
			left++
		}
		parent := g.parents[n]
		if parent&isRoot != 0 {
			h := g.hits[parent&^isRoot]
			p.Root, p.Address = int(h.root), h.address
			break
		}
		if parent == self(n) {
			break
		}
		n = parent - 1
	}
	slices.Reverse(p.Blocks)
	p.Skipped = max(0, left-keptFirst)
	for i := range min(left, keptFirst) {
		p.First = append(p.First, g.block(first[(left-1-i)%keptFirst]).Range)
	}
	return p, true
}

// Total is a number of blocks.
type Total struct{ Blocks, Bytes uint64 }

// Totals adds up the blocks by the phase in which they were reached. Free blocks have the phase [None].
func (g *Graph) Totals() map[Phase]Total {
	totals := map[Phase]Total{}
	n := 0
	for _, r := range g.set.Regions() {
		for b := range r.All() {
			t := totals[g.phases[n]]
			totals[g.phases[n]] = Total{t.Blocks + 1, t.Bytes + b.Size()}
			n++
		}
	}
	return totals
}
