package graph

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// image is memory from an address on. holes lists pages that cannot be read.
type image struct {
	start uint64
	data  []byte
	holes []blocks.Range
}

func (m *image) Read(address uint64, b []byte) error {
	end := address + uint64(len(b))
	if address < m.start || end > m.start+uint64(len(m.data)) {
		return errors.New("no memory there")
	}
	for _, h := range m.holes {
		if address < h.End && end > h.Start {
			return errors.New("a hole")
		}
	}
	copy(b, m.data[address-m.start:])
	return nil
}

func (m *image) put(address, v uint64) { binary.LittleEndian.PutUint64(m.data[address-m.start:], v) }

func (m *image) word(address uint64) uint64 {
	return binary.LittleEndian.Uint64(m.data[address-m.start:])
}

const start = 0x10000000

// newSet returns blocks of the given sizes, which lie in regions of about 100 blocks. Blocks of size 0 are
// gaps between regions.
func newSet(t testing.TB, sizes []uint64, free func(i int) bool) *blocks.Set {
	t.Helper()
	set := &blocks.Set{}
	at := uint64(start)
	for first := 0; first < len(sizes); {
		last, end := first, at
		for last < len(sizes) && sizes[last] != 0 {
			end += sizes[last]
			last++
		}
		if last > first {
			r, err := blocks.NewRegion(blocks.Range{Start: at, End: end})
			require.NoError(t, err)
			for ; first < last; first++ {
				require.True(t, r.Add(at, free(first)))
				at += sizes[first]
			}
			require.NoError(t, set.Add(r))
		}
		at += 4096
		first = last + 1
	}
	return set
}

// random has blocks with random pointers, and roots behind them.
type random struct {
	*image
	set      *blocks.Set
	all      []blocks.Block
	roots    []Root
	doubtful []blocks.Range
	before   map[uint64]uint8 // by start of the block; nil if nothing is known of the content
}

// Object is that of Content.
func (g *random) Object(b blocks.Range) (uint8, bool) {
	before, ok := g.before[b.Start]
	return before, ok
}

// Parts is that of Content: each second word of some blocks, and the first word of others, which is none.
func (g *random) Parts(b blocks.Range, list []Part) []Part {
	if g.oddIsDoubtful(b) {
		list = append(list, Part{Range: blocks.Range{Start: b.Start + 8, End: b.End}, Every: 16})
	}
	if g.startIsNone(b) {
		list = append([]Part{{Range: blocks.Range{Start: b.Start, End: b.Start + 8}, None: true}}, list...)
	}
	return list
}

func (g *random) startIsNone(b blocks.Range) bool { return g.before != nil && b.Start%11 == 0 }

func (g *random) oddIsDoubtful(b blocks.Range) bool { return g.before != nil && b.Start%7 == 0 }

func (g *random) content() Content {
	if g.before == nil {
		return nil
	}
	return g
}

func newRandom(t testing.TB, seed uint64) *random {
	rng := rand.New(rand.NewPCG(seed, 1))
	sizes := make([]uint64, 50+rng.IntN(2000))
	for i := range sizes {
		if rng.IntN(100) > 0 {
			sizes[i] = uint64(1+rng.IntN(12)) * 16
		}
	}
	g := &random{set: newSet(t, sizes, func(int) bool { return rng.IntN(10) == 0 })}
	for _, r := range g.set.Regions() {
		g.all = slices.AppendSeq(g.all, r.All())
	}
	end := g.all[len(g.all)-1].End
	g.image = &image{start: start, data: make([]byte, end-start+6*4096)}
	pointer := func() uint64 {
		b := g.all[rng.IntN(len(g.all))]
		if rng.IntN(4) == 0 {
			return b.Start + rng.Uint64N(b.Size())
		}
		return b.Start
	}
	for _, b := range g.all {
		for range rng.IntN(3) {
			g.put(b.Start+rng.Uint64N(b.Size()/8)*8, pointer())
		}
		if before := uint64(16 * (1 + rng.IntN(2))); seed%2 == 0 && rng.IntN(3) == 0 && b.Size() > before {
			if g.before == nil {
				g.before = map[uint64]uint8{}
			}
			g.before[b.Start] = uint8(before)
			g.put(b.Start+before-16, pointer())
		}
		if rng.IntN(5) == 0 {
			g.doubtful = append(g.doubtful, blocks.Range{Start: b.Start + 8, End: b.Start + 8 + rng.Uint64N(b.Size())})
		}
	}
	for i := range uint64(4) {
		r := blocks.Range{Start: end + 4096*(i+1), End: end + 4096*(i+1) + 512}
		for range rng.IntN(6) {
			g.put(r.Start+rng.Uint64N(64)*8, pointer())
		}
		g.roots = append(g.roots, Root{Phase: Phase(3 - i/2), Turn: int(3 - i/2), Range: r, Values: []uint64{pointer(), 7}})
	}
	return g
}

// find returns the index of the block in use that contains an address, or -1.
func (g *random) find(address uint64) int {
	for i, b := range g.all {
		if b.Contains(address) && !b.Free {
			return i
		}
	}
	return -1
}

func (g *random) isDoubtful(address uint64) bool {
	for _, d := range g.doubtful {
		if d.Contains(address) {
			return true
		}
	}
	return false
}

// reach marks what can be reached from some blocks, in the plainest way.
func (g *random) reach(phases []Phase, phase Phase, from []int, doubtful bool) {
	for _, i := range from {
		if phases[i] != None {
			continue
		}
		phases[i] = phase
		g.reach(phases, phase, g.pointers(i, doubtful), doubtful)
	}
}

func (g *random) pointers(i int, doubtful bool) (list []int) {
	b := g.all[i]
	object := b.Start + uint64(g.before[b.Start])
	for at := b.Start; at < b.End; at += 8 {
		to := g.find(g.word(at))
		if to < 0 || to == i {
			continue
		}
		head := g.toHead(to, g.word(at))
		link := at < object && at+16 >= object
		if head && link {
			continue
		}
		if at == b.Start && g.startIsNone(b.Range) {
			continue
		}
		odd := (at-b.Start)%16 == 8 && g.oddIsDoubtful(b.Range)
		if doubtful || !head && !link && !g.isDoubtful(at) && !odd {
			list = append(list, to)
		}
	}
	return list
}

// toHead reports whether an address in a block is before its object.
func (g *random) toHead(i int, address uint64) bool {
	start := g.all[i].Start
	return address < start+uint64(g.before[start])
}

// rooted returns the blocks that a word of a root leads to.
func (g *random) rooted(address uint64, doubtful bool) []int {
	if i := g.find(address); i >= 0 && g.toHead(i, address) == doubtful {
		return []int{i}
	}
	return nil
}

// want returns the phase of each block.
func (g *random) want() []Phase {
	phases := make([]Phase, len(g.all))
	for p := Phase(1); p < 4; p++ {
		for _, r := range g.roots {
			if r.Phase == p {
				var from []int
				for at := r.Range.Start; at < r.Range.End; at += 8 {
					from = append(from, g.rooted(g.word(at), false)...)
				}
				g.reach(phases, p, append(from, g.rooted(r.Values[0], false)...), false)
			}
		}
	}
	for i := range g.all {
		if phases[i] != None {
			g.reach(phases, Doubtful, g.pointers(i, true), true)
		}
	}
	for _, r := range g.roots {
		for at := r.Range.Start; at < r.Range.End; at += 8 {
			g.reach(phases, Doubtful, g.rooted(g.word(at), true), true)
		}
		g.reach(phases, Doubtful, g.rooted(r.Values[0], true), true)
	}
	held := map[int]bool{}
	var lost []int
	for i, b := range g.all {
		if !b.Free && phases[i] == None {
			lost = append(lost, i)
			for _, to := range g.pointers(i, false) {
				held[to] = true
			}
		}
	}
	for _, i := range lost {
		if !held[i] {
			phases[i] = Lost
			g.reach(phases, UnderLost, g.pointers(i, false), false)
		}
	}
	g.reach(phases, Cycle, lost, false)
	return phases
}

// TestMarkAgreesWithPlain compares the phases with those of a plain search, and checks that each path is one.
func TestMarkAgreesWithPlain(t *testing.T) {
	seen := map[Phase]int{}
	for seed := range uint64(60) {
		r := newRandom(t, seed)
		g, err := Build(Memory{Memory: r}, r.set, Options{Doubtful: r.doubtful, Content: r.content()})
		require.NoError(t, err)
		g.Mark(r.roots)
		assert.Zero(t, g.Unreadable())
		want := r.want()
		totals := map[Phase]Total{}
		for i, b := range r.all {
			total := totals[want[i]]
			totals[want[i]] = Total{total.Blocks + 1, total.Bytes + b.Size()}
			seen[want[i]]++
			p, ok := g.Path(b.Start+b.Size()/2, 1<<20)
			require.Equal(t, !b.Free, ok)
			if !ok {
				continue
			}
			require.Equal(t, want[i], p.Phase, "seed %d, block %d", seed, i)
			require.Equal(t, b.Range, p.Blocks[len(p.Blocks)-1])
			r.checkPath(t, p)
			r.checkCycle(t, g, b.Start)
			short, _ := g.Path(b.Start, 1)
			require.Equal(t, []blocks.Range{b.Range}, short.Blocks)
			before := len(p.Blocks) - 1
			require.Equal(t, append([]blocks.Range(nil), p.Blocks[:min(before, keptFirst)]...), short.First)
			require.Equal(t, max(0, before-keptFirst), short.Skipped)
		}
		require.Equal(t, totals, g.Totals())
		require.False(t, g.MarkWithout(nil))
		require.Equal(t, totals, g.Totals(), "again")
	}
	for _, phase := range []Phase{None, 2, 3, Doubtful, Lost, UnderLost, Cycle} {
		assert.Greater(t, seen[phase], 5, "%d", phase)
	}
}

// checkPath checks that each block of a path has a pointer to the next one.
func (g *random) checkPath(t *testing.T, p Path) {
	t.Helper()
	first := g.find(p.Blocks[0].Start)
	if p.Phase < Doubtful {
		root := g.roots[p.Root]
		require.Equal(t, p.Phase, root.Phase)
		if p.Address < uint64(len(root.Values)) {
			require.Equal(t, first, g.find(root.Values[p.Address]))
		} else {
			require.True(t, root.Range.Contains(p.Address))
			require.Equal(t, first, g.find(g.word(p.Address)))
		}
	}
	require.Equal(t, p.Phase >= Lost, p.Root < 0)
	for i := 1; i < len(p.Blocks); i++ {
		require.Contains(t, g.pointers(g.find(p.Blocks[i-1].Start), p.Phase == Doubtful), g.find(p.Blocks[i].Start))
	}
}

// checkCycle checks that a block has a way from a cycle if, and only if, its phase is Cycle.
func (g *random) checkCycle(t *testing.T, marked *Graph, address uint64) {
	t.Helper()
	p, _ := marked.Path(address, 1<<20)
	way, n := marked.CycleWay(address)
	require.Equal(t, p.Phase == Cycle, n > 0)
	if n == 0 {
		require.Empty(t, way)
		return
	}
	require.GreaterOrEqual(t, n, 3, "two blocks and the first again")
	require.Equal(t, way[0], way[n-1])
	require.Equal(t, address, way[len(way)-1].Start)
	for i := 1; i < len(way); i++ {
		require.Contains(t, g.pointers(g.find(way[i-1].Start), false), g.find(way[i].Start))
	}
}

// equal returns an image of n blocks of a size, which are in use, and memory behind them for roots.
func equal(t testing.TB, n int, size uint64) (*image, *blocks.Set) {
	t.Helper()
	set := newSet(t, slices.Repeat([]uint64{size}, n), func(int) bool { return false })
	return &image{start: start, data: make([]byte, uint64(n)*size+4096)}, set
}

// chain returns an image of blocks of a size, each of which points to the next one, with a root that holds the
// first one.
func chain(t testing.TB, n int, size uint64) (*image, *blocks.Set, []Root) {
	m, set := equal(t, n, size)
	for i := range uint64(n - 1) {
		m.put(start+i*size+8, start+(i+1)*size)
	}
	root := blocks.Range{Start: start + uint64(n)*size, End: start + uint64(n)*size + 16}
	m.put(root.Start, start)
	return m, set, []Root{{Phase: 1, Range: root}}
}

// TestMarkWithout: what only a part of a block points to is doubtful, also what that leads to.
func TestMarkWithout(t *testing.T) {
	const n, size, at = 10, 64, 3
	m, set, roots := chain(t, n, size)
	block := start + uint64(at)*size
	part := blocks.Range{Start: block + 8, End: block + 24}
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark(roots)
	g.MarkWithout(map[blocks.Range][]blocks.Range{{Start: block, End: block + size}: {part}})
	assert.Equal(t, map[Phase]Total{1: {at + 1, (at + 1) * size}, Doubtful: {n - at - 1, (n - at - 1) * size}}, g.Totals())
	// Another word of the block points there, too.
	m.put(block+32, block+size)
	g, err = Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark(roots)
	g.MarkWithout(map[blocks.Range][]blocks.Range{{Start: block, End: block + size}: {part}})
	assert.Equal(t, map[Phase]Total{1: {n, n * size}}, g.Totals())
}

// TestLongList has a path of a million blocks.
func TestLongList(t *testing.T) {
	const n = 1 << 20
	m, set, roots := chain(t, n, 32)
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark(roots)
	p, ok := g.Path(start+(n-1)*32, 10)
	require.True(t, ok)
	assert.Equal(t, 0, p.Root)
	assert.Len(t, p.Blocks, 10)
	assert.Equal(t, Total{n, n * 32}, g.Totals()[1])
}

// TestMemory: the graph takes at most 25 bytes for a block, if blocks have 96 bytes and two pointers.
func TestMemory(t *testing.T) {
	const n, size = 1 << 20, 96
	m, set, roots := chain(t, n, size)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range uint64(n) {
		m.put(start+i*size+64, start+rng.Uint64N(n)*size)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark(roots)
	runtime.ReadMemStats(&after)
	perNode := float64(after.TotalAlloc-before.TotalAlloc-bufSize*2) / n
	assert.Less(t, perNode, 25.0-2)
	nodes, pointers := g.Len()
	t.Logf("%d blocks, %d pointers: %.1f bytes a block", nodes, pointers, perNode)
	runtime.KeepAlive(set)
}

func TestLimit(t *testing.T) {
	m, set, _ := chain(t, 1000, 32)
	_, err := Build(Memory{Memory: m}, set, Options{MaxBytes: 1000})
	require.ErrorIs(t, err, ErrLimit)
	_, err = Build(Memory{Memory: m}, set, Options{MaxBytes: 1000*18 + 1})
	require.NoError(t, err)
	for i := range uint64(1000) {
		m.put(start+i*32+16, start+i%7*32)
	}
	_, err = Build(Memory{Memory: m}, set, Options{MaxBytes: 1000*18 + 1})
	require.ErrorIs(t, err, ErrLimit)
}

// TestUnreadable skips pages that cannot be read, and reads those around them.
func TestUnreadable(t *testing.T) {
	m, set, roots := chain(t, 1000, 32)
	m.holes = []blocks.Range{{Start: start + 8192, End: start + 12288}}
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 4096, g.Unreadable())
	g.Mark(roots)
	assert.EqualValues(t, 4096, g.Unreadable())
	assert.EqualValues(t, 257, g.Totals()[1].Blocks, "up to the first block that cannot be read")
	// Memory without content is not read at all.
	g, err = Build(Memory{Memory: m, Resident: func(r blocks.Range) []blocks.Range {
		return []blocks.Range{{Start: r.Start, End: min(r.End, start+8192)}}
	}}, set, Options{})
	require.NoError(t, err)
	assert.Zero(t, g.Unreadable())
}

// TestEmpty has no blocks.
func TestEmpty(t *testing.T) {
	g, err := Build(Memory{Memory: &image{}}, &blocks.Set{}, Options{})
	require.NoError(t, err)
	g.Mark([]Root{{Phase: 1, Values: []uint64{0, 1, ^uint64(0)}}})
	assert.Empty(t, g.Totals())
	_, ok := g.Path(0, 1)
	assert.False(t, ok)
}

func BenchmarkGraph(b *testing.B) {
	const n, size = 1 << 20, 96
	m, set, roots := chain(b, n, size)
	for b.Loop() {
		g, err := Build(Memory{Memory: m}, set, Options{})
		require.NoError(b, err)
		g.Mark(roots)
	}
}

// objects is Content that knows some blocks with an object.
type objects map[uint64]bool

func (o objects) Object(b blocks.Range) (uint8, bool) { return 0, o[b.Start] }

func (o objects) Parts(_ blocks.Range, list []Part) []Part { return list }

// TestRuntime has objects that two roots of a runtime hold. Objects that both lead to are held by the first root, and
// other blocks by the root of the object that is nearest.
func TestRuntime(t *testing.T) {
	const size = 64
	b := func(i uint64) uint64 { return start + i*size }
	const first, second, items, both, far1, far2, contested, under, data, unknown = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	pointers := map[uint64][]uint64{
		first: {items, far1}, items: {both}, far1: {far2}, far2: {contested, second},
		second: {both, contested, data}, both: {data}, contested: {under},
	}
	m, set := equal(t, 10, size)
	for from, list := range pointers {
		for i, to := range list {
			m.put(b(from)+8*uint64(i), b(to))
		}
	}
	m.put(b(10), b(unknown))
	content := objects{b(first): true, b(second): true, b(both): true}
	g, err := Build(Memory{Memory: m}, set, Options{Content: content})
	require.NoError(t, err)
	g.Mark([]Root{
		{Phase: 3, Turn: 3, Range: blocks.Range{Start: b(10), End: b(10) + 8}},
		{Phase: 2, Turn: 2, Runtime: true, Values: []uint64{b(second)}},
		{Phase: 1, Turn: 1, Runtime: true, Values: []uint64{b(first)}},
	})
	phases := map[uint64]Phase{}
	for i := range uint64(10) {
		p, ok := g.Path(b(i), 10)
		require.True(t, ok)
		phases[i] = p.Phase
		if i == under {
			assert.Equal(t, b(second), p.Blocks[0].Start)
		}
	}
	assert.Equal(t, map[uint64]Phase{
		first: 1, items: 1, both: 1, far1: 1, data: 1, far2: 1, second: 2, contested: 2, under: 2, unknown: 3,
	}, phases)
}

// TestRuntimeInterior has two objects that lead to a block, one by pointers to the interior of blocks. Such a pointer
// counts for five others.
func TestRuntimeInterior(t *testing.T) {
	const size = 64
	at := func(i uint64) uint64 { return start + i*size }
	for steps, want := range map[uint64]Phase{3: 1, 5: 2} {
		m, set := equal(t, 10, size)
		for i := range steps {
			m.put(at(i), at(i+1))
		}
		m.put(at(steps), at(9))
		m.put(at(8), at(9)+16)
		got := phaseOf(t, m, set, objects{at(0): true, at(8): true}, at(9), at(0), at(8))
		assert.Equal(t, want, got, "%d steps", steps)
	}
}

// phaseOf returns the phase of a block. The runtime has a root for each of some objects, in phases from 1 on.
func phaseOf(t *testing.T, m *image, set *blocks.Set, c Content, block uint64, held ...uint64) Phase {
	t.Helper()
	g, err := Build(Memory{Memory: m}, set, Options{Content: c})
	require.NoError(t, err)
	var roots []Root
	for i, object := range held {
		roots = append(roots, Root{Phase: Phase(i + 1), Turn: i + 1, Runtime: true, Values: []uint64{object}})
	}
	g.Mark(roots)
	p, ok := g.Path(block, 10)
	require.True(t, ok)
	return p.Phase
}

// TestOwner has a buffer of the kernel's results with the addresses of places in an array, as nginx has for epoll_wait,
// and a pool, into which a variable points, with the address of the array.
func TestOwner(t *testing.T) {
	const size = 64
	at := func(i uint64) uint64 { return start + i*size }
	const results, pool, array, roots = 0, 1, 2, 3
	m, set := equal(t, 3, size)
	m.put(at(results), at(array)+16)
	m.put(at(pool)+32, at(array))
	m.put(at(roots), at(results))
	m.put(at(roots)+8, at(pool)+16)
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark([]Root{{Phase: 1, Range: blocks.Range{Start: at(roots), End: at(roots) + 16}}})
	p, ok := g.Path(at(array), 10)
	require.True(t, ok)
	assert.Equal(t, at(roots)+8, p.Address)
}

// TestTurn has two roots that lead to a block. Of roots of the same turn, that with the shorter way counts, or else
// that of the first phase: here a global variable and one of main, whose blocks have the addresses of others that had
// their memory before.
func TestTurn(t *testing.T) {
	const size = 64
	at := func(i uint64) uint64 { return start + i*size }
	const first, stale, second, block, firstRoot, secondRoot = 0, 1, 2, 3, 4, 5
	phase := func(firstSteps uint64, secondTurn int) Phase {
		m, set := equal(t, 4, size)
		m.put(at(firstRoot), at(first))
		m.put(at(secondRoot), at(second))
		m.put(at(first), at(stale))
		m.put(at(firstSteps-1), at(block))
		m.put(at(second), at(block))
		g, err := Build(Memory{Memory: m}, set, Options{})
		require.NoError(t, err)
		root := func(i uint64) blocks.Range { return blocks.Range{Start: at(i), End: at(i) + 8} }
		g.Mark([]Root{{Phase: 2, Turn: secondTurn, Range: root(secondRoot)}, {Phase: 1, Turn: 1, Range: root(firstRoot)}})
		p, ok := g.Path(at(block), 10)
		require.True(t, ok)
		return p.Phase
	}
	assert.Equal(t, Phase(2), phase(2, 1))
	assert.Equal(t, Phase(1), phase(1, 1))
	assert.Equal(t, Phase(1), phase(2, 2))
	assert.Equal(t, Phase(2), phase(1, 0))
}

// whole is Content that knows the first words of blocks as pointers to whole blocks.
type whole struct{ objects }

func (whole) Parts(b blocks.Range, list []Part) []Part {
	return append(list, Part{Range: blocks.Range{Start: b.Start, End: b.Start + 8}, Whole: true})
}

// TestWhole has an object with the address of the interior of a block that has an object of another one.
func TestWhole(t *testing.T) {
	const size = 64
	at := func(i uint64) uint64 { return start + i*size }
	known := objects{at(0): true, at(2): true, at(3): true}
	for content, want := range map[Content]Phase{&known: 2, &whole{known}: 1} {
		m, set := equal(t, 4, size)
		m.put(at(0), at(1)+16)
		m.put(at(1)+16, at(2))
		m.put(at(3), at(2))
		assert.Equal(t, want, phaseOf(t, m, set, content, at(2), at(0), at(3)), "%T", content)
	}
}
