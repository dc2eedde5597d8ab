package graph

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// rows has the pointers of consecutive blocks.
type rows struct {
	first  uint32   // the number of its first block
	starts []uint32 // the first edge of each block, and the end of those of the last one
	edges
	vectors []vector
}

// of returns which edges are those of a block.
func (r *rows) of(n uint32) (from, to uint32) { return r.starts[n-r.first], r.starts[n-r.first+1] }

// size returns the memory of the pointers and vectors, in that of a pointer.
func (r *rows) size() uint32 { return r.n + perVector*uint32(len(r.vectors)) }

// rowsOf returns the rows that have the edges of a block.
func (g *Graph) rowsOf(n uint32) *rows {
	i := len(g.rows) - 1
	for g.rows[i].first > n {
		i--
	}
	return &g.rows[i]
}

// maxReaders limits the goroutines that read blocks.
const maxReaders = 4

// readAll adds the edges of all blocks. Several goroutines read a part of the blocks each, unless there is Content,
// which is asked by address.
func (g *Graph) readAll(listed []blocks.Range) error {
	readers := 1
	if g.content == nil {
		readers = min(maxReaders, runtime.GOMAXPROCS(0))
	}
	// Two readers never set bits of the same word.
	each := (g.nodes/readers/wordBits + 1) * wordBits
	g.free = newBits(g.nodes)
	var all []*reader
	for first := 0; first < g.nodes; first += each {
		n := min(each, g.nodes-first)
		all = append(all, &reader{
			Graph: g, listed: listed, rows: rows{first: uint32(first), starts: make([]uint32, 0, n+1)}, left: n,
			scan: scanner{Memory: g.memory},
		})
	}
	var pointers atomic.Int64
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() { r.read(&pointers) })
	}
	wg.Wait()
	for _, r := range all {
		g.rows, g.unreadable = append(g.rows, r.rows), g.unreadable+r.scan.unreadable
	}
	if g.bytes(pointers.Load()) > g.limit {
		return fmt.Errorf("%d blocks with more than %d pointers: %w", g.nodes, g.pointersWithin(), ErrLimit)
	}
	return nil
}

// bytes returns the memory of the graph.
func (g *Graph) bytes(pointers int64) uint64 {
	return uint64(g.nodes)*perNode + uint64(pointers)*perEdge
}

// pointersWithin returns how many pointers the limit permits.
func (g *Graph) pointersWithin() uint64 { return (g.limit - uint64(g.nodes)*perNode) / perEdge }

// reader reads consecutive blocks.
type reader struct {
	*Graph
	listed []blocks.Range // see Options.Doubtful
	rows   rows
	left   int // blocks that are not read yet
	scan   scanner
	parts  []Part
}

// read reads the blocks until it has all, or the pointers of all readers are too many.
func (r *reader) read(pointers *atomic.Int64) {
	const often = 1 << 12
	counted := uint32(0)
	count := func() bool {
		size := r.rows.size()
		n := pointers.Add(int64(size - counted))
		counted = size
		return r.bytes(n) <= r.limit
	}
	defer count()
	for i, region := range r.set.Regions() {
		from := int(r.rows.first) + len(r.rows.starts) - int(r.bases[i])
		if from >= region.Len() {
			continue
		}
		r.scan.start(blocks.Range{Start: region.Number(from).Start, End: region.End})
		for b := range region.From(from) {
			r.add(b)
			if r.rows.size()-counted >= often && !count() {
				return
			}
			if r.left--; r.left == 0 {
				r.rows.starts = append(r.rows.starts, r.rows.n)
				return
			}
		}
	}
}

// add adds a block.
func (r *reader) add(b blocks.Block) {
	n := r.rows.first + uint32(len(r.rows.starts))
	r.rows.starts = append(r.rows.starts, r.rows.n)
	if b.Free {
		r.free.set(n)
		return
	}
	for len(r.listed) > 0 && r.listed[0].End <= b.Start {
		r.listed = r.listed[1:]
	}
	r.parts = r.parts[:0]
	for i := 0; i < len(r.listed) && r.listed[i].Start < b.End; i++ {
		r.parts = append(r.parts, Part{Range: r.listed[i]})
	}
	if r.content != nil {
		r.parts = r.content.Parts(b.Range, r.parts)
	}
	r.addEdges(n, b.Range)
}

// addEdges adds the edges of a block, of which parts tells what the words are.
func (r *reader) addEdges(from uint32, b blocks.Range) {
	first := r.rows.n
	links := r.links(from, b)
	r.pointers(&r.scan, b, func(address uint64, to uint32) {
		isLink := links.Contains(address)
		if to&^kindBits == from || isLink && to&doubtful != 0 {
			return
		}
		if isLink { // to the head of the list, perhaps
			to = to&^kindBits | doubtful
		}
		if i := slices.IndexFunc(r.parts, func(p Part) bool { return p.has(address) }); i >= 0 {
			switch p := &r.parts[i]; {
			case p.None:
				return
			case p.Whole:
				to &^= interior
			default:
				to = to&^kindBits | doubtful
			}
		}
		if r.rows.n == first || r.rows.at(r.rows.n-1) != to {
			r.rows.add(to)
		}
	}, func(v vector) { r.rows.vectors = append(r.rows.vectors, v) })
}

// links returns the two words before the object in a block.
func (g *Graph) links(n uint32, b blocks.Range) blocks.Range {
	const size = 2 * wordSize
	if g.before == nil || g.before[n] < size {
		return blocks.Range{}
	}
	object := b.Start + uint64(g.before[n])
	return blocks.Range{Start: object - size, End: object}
}

// edges is a slice that grows without being copied.
type edges struct {
	chunks [][]uint32
	n      uint32
}

const chunkSize = 1 << 16

func (e *edges) add(v uint32) {
	if e.n%chunkSize == 0 {
		e.chunks = append(e.chunks, make([]uint32, chunkSize))
	}
	e.chunks[e.n/chunkSize][e.n%chunkSize] = v
	e.n++
}

func (e *edges) at(i uint32) uint32 { return e.chunks[i/chunkSize][i%chunkSize] }

func (e *edges) set(i, v uint32) { e.chunks[i/chunkSize][i%chunkSize] = v }
