//go:build linux && amd64

package holders

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
	"github.com/heaplapse/heaplapse/internal/holders/graph"
	"github.com/heaplapse/heaplapse/internal/holders/names"
	"github.com/heaplapse/heaplapse/internal/record/attach/target"
)

// addCycle lets the path to a lost block begin with the cycle of blocks that holds it. It returns their number, with
// the first one again, and shared_ptr if there are such pointers on the cycle.
func (l *Look) addCycle(ctx context.Context, p *graph.Path, address uint64) (n int, pointers string) {
	way, n := l.graph.CycleWay(address)
	if n == 0 || len(way) > maxPath {
		return 0, ""
	}
	p.First, p.Skipped, p.Blocks = nil, 0, way
	for i := 1; i < n; i++ {
		if l.names.IsShared(ctx, way[i-1], way[i]) {
			return n, "shared_ptr"
		}
	}
	return n, ""
}

// withoutLinks leaves out how many objects of the same type are between two: a cycle is told by its types.
func withoutLinks(steps []names.Step) []names.Step {
	for i := range steps {
		steps[i].Links = 0
	}
	return steps
}

// addItself lets the way to a lost block begin with a cycle of one, if the first block on it is an object that has a
// reference to itself. It returns the number of blocks of the cycle, the first one twice, and shared_ptr if the
// reference is one, or 0.
func (l *Look) addItself(ctx context.Context, p *graph.Path) (n int, pointers string) {
	if p.Skipped > 0 || len(p.First) > 0 {
		return 0, ""
	}
	first := p.Blocks[0]
	references, isObject := l.graph.PointsToItself(first.Start)
	switch {
	case references == 0:
		return 0, ""
	case l.names.IsShared(ctx, first, first):
		pointers = "shared_ptr"
	case !isObject && !l.isCounted(first, references):
		return 0, ""
	}
	p.Blocks = slices.Insert(p.Blocks, 0, first)
	return 2, pointers
}

// isCounted reports whether a block begins with counts of references, and the first count equals the number of
// references that the block has to itself. Rust's Rc and Arc begin with two numbers, a std::shared_ptr with a table of
// virtual functions and two smaller numbers. Other blocks may have their own address for other reasons, such as an
// empty list.
func (l *Look) isCounted(b blocks.Range, references int) bool {
	const most = 1 << 24
	var head [16]byte
	if l.snapshot.Memory.Read(b.Start, head[:]) != nil {
		return false
	}
	first, second := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	if first == uint64(references) && second-1 < most {
		return true
	}
	m, ok := target.Containing(l.snapshot.Mappings, first)
	return ok && strings.HasPrefix(m.Path, "/") && uint32(second) == uint32(references) && second>>32-1 < most
}
