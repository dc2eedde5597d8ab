package graph

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Phase is what kind of root leads to a block, from 1 on.
type Phase uint8

// Phases that Mark adds.
const (
	// None is that of free blocks.
	None Phase = 0
	// Doubtful is the last phase in which blocks are reached.
	Doubtful Phase = 252
	// Lost is that of lost blocks to which nothing points.
	Lost Phase = 253
	// UnderLost is that of lost blocks to which another lost block leads.
	UnderLost Phase = 254
	// Cycle is that of lost blocks that hold each other, and of those to which they lead.
	Cycle Phase = 255
)

// Root is memory whose words hold blocks, or words without an address.
type Root struct {
	Phase Phase
	// Turn is when the root is followed. Roots of the same turn are followed together: a block belongs to that from
	// which the shortest way leads to it, or of several ways to that of the first phase.
	Turn int
	// Runtime says that the words are those in which a language's runtime has its objects. Such roots come first.
	Runtime bool
	Range   blocks.Range
	Values  []uint64
}

// Marks is the result of Mark.
type Marks struct {
	roots   []Root
	parents []uint32 // 0, the number of the parent + 1, or isRoot and the index of a hit
	hits    []hit
	phases  []Phase
	queue   []uint32
	done    int      // what is in the queue before has its phase
	found   []levels // by followObjects
	scan    scanner
}

// hit is a word of a root that holds a block.
type hit struct {
	root    int32
	address uint64 // or the index of a value
}

const isRoot = 1 << 31

// Mark follows the pointers from the roots. It must be called once.
func (g *Graph) Mark(roots []Root) {
	g.roots, g.scan = roots, scanner{Memory: g.memory}
	g.parents, g.phases = make([]uint32, g.nodes), make([]Phase, g.nodes)
	g.doubtVectors(roots)
	g.followAll(roots)
}

// MarkWithout makes the pointers doubtful that only some parts of blocks have, by address, and marks again if there are
// any. It reports whether it did. Mark must have been called.
func (g *Graph) MarkWithout(parts map[blocks.Range][]blocks.Range) bool {
	unreadable, before := g.unreadable, g.parents
	g.scan, g.parents = scanner{Memory: g.memory}, make([]uint32, g.nodes)
	if !g.doubtParts(parts) {
		g.parents = before
		return false
	}
	clear(g.parents)
	clear(g.phases)
	g.hits, g.done = g.hits[:0], 0
	g.followAll(g.roots)
	g.unreadable = unreadable // the same as before
	return true
}

// followAll gives each block its phase and its parent.
func (g *Graph) followAll(roots []Root) {
	g.queue = make([]uint32, 0, g.nodes)
	order := make([]int, len(roots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareRoots(&roots[a], &roots[b]) })
	others := slices.IndexFunc(order, func(i int) bool { return !roots[i].Runtime })
	if others < 0 {
		others = len(order)
	}
	g.followRoots(order[:others], g.followObjects, func(int) {})
	g.followRest()
	g.followRoots(order[others:], g.followStarts, g.followInteriors)
	g.markDoubtful()
	g.markLost()
	g.queue, g.scan = nil, scanner{}
}

// followRoots marks what roots lead to, in their order. follow marks what the blocks in the queue lead to, from an
// index on: first those whose start a root points to, then those to whose interior one does. rest marks what all of
// them lead to beside that.
func (g *Graph) followRoots(order []int, follow, rest func(from int)) {
	for len(order) > 0 {
		n := 1
		for n < len(order) && g.roots[order[n]].Turn == g.roots[order[0]].Turn {
			n++
		}
		first := len(g.queue)
		for _, kind := range []uint32{0, interior} {
			from := len(g.queue)
			for _, i := range order[:n] {
				g.seed(i, kind)
			}
			follow(from)
		}
		rest(first)
		g.endRoots()
		order = order[n:]
	}
}

// endRoots gives the newest blocks of the queue the phases of the roots that lead to them.
func (g *Graph) endRoots() {
	for _, n := range g.queue[g.done:] {
		if parent := g.parents[n]; parent&isRoot != 0 {
			g.phases[n] = g.roots[g.hits[parent&^isRoot].root].Phase
		} else {
			g.phases[n] = g.phases[parent-1]
		}
	}
	g.done = len(g.queue)
}

// compareRoots orders roots by when they are followed.
func compareRoots(a, b *Root) int {
	return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Phase, b.Phase))
}

// endPhase says in which phase the newest blocks of the queue were reached.
func (g *Graph) endPhase(p Phase) {
	for _, n := range g.queue[g.done:] {
		g.phases[n] = p
	}
	g.done = len(g.queue)
}

// seed marks the blocks that a root holds by pointers of one kind.
func (g *Graph) seed(root int, kind uint32) {
	see := func(address uint64, to uint32) {
		if to&kindBits != kind || g.parents[to&^kindBits] != 0 {
			return
		}
		g.hits = append(g.hits, hit{int32(root), address})
		g.visit(to&^kindBits, isRoot|uint32(len(g.hits)-1))
	}
	for i, v := range g.roots[root].Values {
		if to, ok := g.edge(v); ok {
			see(uint64(i), to)
		}
	}
	if g.roots[root].Range.Size() == 0 {
		return
	}
	before := g.scan.unreadable
	g.scan.start(g.roots[root].Range)
	g.pointers(&g.scan, g.roots[root].Range, see, nil)
	if kind == interior {
		g.unreadable += g.scan.unreadable - before
	}
}

func (g *Graph) visit(n, parent uint32) {
	if g.parents[n] == 0 {
		g.parents[n] = parent
		g.queue = append(g.queue, n)
	}
}

// follow marks what the blocks in the queue lead to, from an index on. Pointers to the interior of blocks are
// followed when there are no others: what owns a block has its start, to free it.
func (g *Graph) follow(from int) {
	g.followStarts(from)
	g.followInteriors(from)
}

// followStarts marks what the blocks in the queue lead to by pointers to the start of blocks.
func (g *Graph) followStarts(from int) {
	for ; from < len(g.queue); from++ {
		g.visitEdges(g.queue[from], 0)
	}
}

// followInteriors marks what the blocks in the queue, which followStarts has followed, lead to by other pointers.
func (g *Graph) followInteriors(from int) {
	for ; from < len(g.queue); from++ {
		found := len(g.queue)
		g.visitEdges(g.queue[from], interior)
		g.followStarts(found)
	}
}

// levels are the indices of a queue where the blocks begin that are a step further from the roots than those before,
// and where the last of them end.
type levels []uint32

// of returns where the blocks with a distance from the roots are in the queue.
func (l levels) of(distance int) (from, to uint32) {
	if distance < 0 || distance+1 >= len(l) {
		return 0, 0
	}
	return l[distance], l[distance+1]
}

// followObjects marks the objects to which the blocks in the queue lead, from an index on, and the other blocks of
// these objects, such as the items of a list.
func (g *Graph) followObjects(from int) {
	found := levels{uint32(from)}
	for end := len(g.queue); from < end; end = len(g.queue) {
		found = append(found, uint32(end))
		for ; from < end; from++ {
			n := g.queue[from]
			isObject := g.objects.has(n)
			g.eachEdge(n, 0, func(to uint32) {
				if isObject || g.objects.has(to) {
					g.visit(to, n+1)
				}
			})
		}
	}
	g.found = append(g.found, found)
}

// interiorSteps is how many steps a pointer to the interior of a block counts for in followRest, beside its own.
const interiorSteps = 4

// followRest marks what all objects lead to that were reached, whose blocks are all in the queue. Each block gets the
// phase of the root from which the shortest way leads to it: the longer a way through memory whose content is not
// known, the less it means.
func (g *Graph) followRest() {
	last := 0 // level with blocks
	for _, l := range g.found {
		last = max(last, len(l)-2)
	}
	g.found = append(g.found, levels{uint32(len(g.queue))})
	rest := &g.found[len(g.found)-1]
	for i := 0; i <= last+interiorSteps; i++ {
		before := len(g.queue)
		*rest = append(*rest, uint32(before))
		for _, l := range g.found {
			g.visitLevel(l, i, 0)
			g.visitLevel(l, i-interiorSteps, interior)
		}
		if len(g.queue) > before {
			last = i + 1
		}
	}
	g.endRoots()
	g.found = nil
}

// visitLevel marks what the blocks of a level lead to by pointers of one kind.
func (g *Graph) visitLevel(l levels, level int, kind uint32) {
	from, to := l.of(level)
	for _, n := range g.queue[from:to] {
		g.visitEdges(n, kind)
	}
}

func (g *Graph) visitEdges(n, kind uint32) {
	g.eachEdge(n, kind, func(to uint32) { g.visit(to, n+1) })
}

// eachEdge calls a function for each pointer of a block of one kind.
func (g *Graph) eachEdge(n, kind uint32, f func(to uint32)) {
	r := g.rowsOf(n)
	for i, end := r.of(n); i < end; i++ {
		if e := r.at(i); e&kindBits == kind {
			f(e &^ kindBits)
		}
	}
}

// markDoubtful follows doubtful pointers, from every block that was reached and from the roots.
func (g *Graph) markDoubtful() {
	for head := 0; head < len(g.queue); head++ {
		from := len(g.queue)
		g.visitEdges(g.queue[head], doubtful)
		g.follow(from)
	}
	if from := len(g.queue); g.before != nil || g.whole != nil {
		for i := range g.roots {
			g.seed(i, doubtful)
		}
		g.follow(from)
		for head := from; head < len(g.queue); head++ {
			from := len(g.queue)
			g.visitEdges(g.queue[head], doubtful)
			g.follow(from)
		}
	}
	g.endPhase(Doubtful)
}

// markLost tells apart the blocks that nothing has reached.
func (g *Graph) markLost() {
	held := newBits(g.nodes) // by another lost block
	lost := func(yield func(uint32)) {
		for n, parent := range g.parents {
			if parent == 0 && !g.free.has(uint32(n)) {
				yield(uint32(n))
			}
		}
	}
	lost(func(n uint32) {
		r := g.rowsOf(n)
		for i, end := r.of(n); i < end; i++ {
			if e := r.at(i) &^ interior; e&doubtful == 0 {
				held.set(e)
			}
		}
	})
	from := len(g.queue)
	lost(func(n uint32) {
		if !held.has(n) {
			g.visit(n, self(n))
		}
	})
	g.endPhase(Lost)
	g.follow(from)
	g.endPhase(UnderLost)
	count := 0
	lost(func(uint32) { count++ })
	g.markCycles(held, count, lost)
	g.endPhase(Cycle)
}

// self is the parent of blocks without one.
func self(n uint32) uint32 { return n + 1 }
