package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// Memory is the memory of a process that does not run.
type Memory struct {
	blocks.Memory
	// Resident returns the parts of a range that have content, by address. If it is nil, all has.
	Resident func(blocks.Range) []blocks.Range
}

// Options are those of Build.
type Options struct {
	// Doubtful lists memory within blocks whose words are most likely no pointers, by address.
	Doubtful []blocks.Range
	// MaxBytes limits the memory of the graph; 0 means 1 GiB.
	MaxBytes uint64
}

// ErrLimit is wrapped by the error of Build if the graph would take more memory than MaxBytes.
var ErrLimit = errors.New("too many blocks")

// Graph has the pointers between blocks.
type Graph struct {
	set    *blocks.Set
	memory Memory
	bases  []uint32     // number of the first block of each region
	span   blocks.Range // contains all regions
	nodes  int
	limit  uint64

	rows  []uint32 // the first edge of each block
	edges edges
	slack map[uint32][]uint32 // doubtful edges
	// nslack is the number of doubtful edges.
	nslack int

	Marks
	unreadable uint64
}

const (
	defaultLimit = 1 << 30
	perNode      = 13 // rows, parents, phases, queue
	perEdge      = 4
	perSlack     = 24      // in a map of slices, about
	interior     = 1 << 31 // bit of an edge: it does not point to the start
	maxNodes     = 1<<31 - 2
)

// Build reads the blocks of a set.
func Build(m Memory, set *blocks.Set, o Options) (*Graph, error) {
	g := &Graph{set: set, memory: m, limit: o.MaxBytes, slack: map[uint32][]uint32{}}
	if g.limit == 0 {
		g.limit = defaultLimit
	}
	regions := set.Regions()
	for _, r := range regions {
		g.bases = append(g.bases, uint32(g.nodes))
		if g.nodes += r.Len(); g.nodes > maxNodes || uint64(g.nodes)*(perNode+perEdge) > g.limit {
			return nil, fmt.Errorf("%d blocks: %w", g.nodes, ErrLimit)
		}
	}
	if len(regions) > 0 {
		g.span = blocks.Range{Start: regions[0].Start, End: regions[len(regions)-1].End}
	}
	g.rows = make([]uint32, 0, g.nodes+1)
	scan := scanner{Memory: m}
	doubtful := o.Doubtful
	for _, r := range regions {
		scan.start(r.Range)
		for b := range r.All() {
			g.rows = append(g.rows, g.edges.n)
			if b.Free {
				continue
			}
			for len(doubtful) > 0 && doubtful[0].End <= b.Start {
				doubtful = doubtful[1:]
			}
			g.read(&scan, b.Range, doubtful)
			if g.bytes() > g.limit {
				return nil, fmt.Errorf("%d blocks with %d pointers: %w", len(g.rows), g.edges.n, ErrLimit)
			}
		}
	}
	g.rows = append(g.rows, g.edges.n)
	g.unreadable = scan.unreadable
	return g, nil
}

// read adds the edges of a block, which is the last one.
func (g *Graph) read(scan *scanner, b blocks.Range, doubtful []blocks.Range) {
	from := uint32(len(g.rows) - 1)
	first := g.edges.n
	scan.words(b, g.span, func(address, value uint64) {
		to, ok := g.edge(value)
		if !ok || to&^interior == from {
			return
		}
		for _, d := range doubtful {
			if d.Start > address {
				break
			}
			if d.Contains(address) {
				g.slack[from] = append(g.slack[from], to&^interior)
				g.nslack++
				return
			}
		}
		if g.edges.n == first || g.edges.at(g.edges.n-1) != to {
			g.edges.add(to)
		}
	})
}

// edge returns the block in use that an address points to.
func (g *Graph) edge(address uint64) (uint32, bool) {
	r, i := g.set.Index(address)
	if r == nil {
		return 0, false
	}
	start, number, ok := r.Locate(address)
	if !ok {
		return 0, false
	}
	n := g.bases[i] + uint32(number)
	if start != address {
		n |= interior
	}
	return n, true
}

// block returns a block by its number.
func (g *Graph) block(n uint32) blocks.Block {
	i, found := slices.BinarySearch(g.bases, n)
	if !found {
		i--
	}
	for i+1 < len(g.bases) && g.bases[i+1] == n { // regions without blocks
		i++
	}
	return g.set.Regions()[i].Number(int(n - g.bases[i]))
}

// Len returns the number of blocks, of which some are free, and of pointers between them.
func (g *Graph) Len() (nodes, pointers int) { return g.nodes, int(g.edges.n) + g.nslack }

// Unreadable returns the number of bytes of blocks and roots that could not be read. If it is not 0,
// nothing can be said to be lost.
func (g *Graph) Unreadable() uint64 { return g.unreadable }

func (g *Graph) bytes() uint64 {
	return uint64(g.nodes)*perNode + uint64(g.edges.n)*perEdge + uint64(g.nslack)*perSlack
}

// edges is a slice that grows without being copied.
type edges struct {
	chunks [][]uint32
	n      uint32
}

const chunkSize = 1 << 18

func (e *edges) add(v uint32) {
	if e.n%chunkSize == 0 {
		e.chunks = append(e.chunks, make([]uint32, chunkSize))
	}
	e.chunks[e.n/chunkSize][e.n%chunkSize] = v
	e.n++
}

func (e *edges) at(i uint32) uint32 { return e.chunks[i/chunkSize][i%chunkSize] }
