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
	// Content tells what is in blocks; it may be nil.
	Content Content
	// Whole has the blocks behind which another one may begin at once, and may be nil.
	Whole *blocks.Set
	// MaxBytes limits the memory of the graph; 0 means 1 GiB.
	MaxBytes uint64
}

// Content tells what is known of the content of blocks. Build asks twice for each block in use, by address: first
// where the objects begin, then, for all blocks again, what is doubtful.
type Content interface {
	// Object reports whether an object is in a block, and returns the number of bytes of the block before it. The
	// words before it belong to the runtime of a language: a pointer to them is doubtful, and a link between the last
	// two words before one object and those of another is none.
	Object(b blocks.Range) (before uint8, ok bool)
	// Parts appends the parts of a block whose words are not just what they look like.
	Parts(b blocks.Range, list []Part) []Part
}

// Part is memory whose words are most likely no pointers, or certainly none that keep a block in use (None), or
// pointers to whole blocks, though the address is one of the interior (Whole).
type Part struct {
	blocks.Range
	None, Whole bool
	// Every is the distance of the words, as in an array of structures. 0 stands for all words.
	Every uint64
}

// has reports whether a word belongs to the part.
func (p *Part) has(address uint64) bool {
	return p.Contains(address) && (p.Every == 0 || (address-p.Start)%p.Every == 0)
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
	whole  *blocks.Set // see Options

	content Content
	before  []uint8 // bytes before the object in each block; nil if there is no Content
	objects bits    // the blocks with an object
	free    bits    // the blocks that are free
	rows    []rows  // the pointers of all blocks, by number

	Marks
	unreadable uint64
}

const (
	defaultLimit = 1 << 30
	perNode      = 14 // rows, parents, phases, queue, before
	perEdge      = 4
	interior     = 1 << 31 // bit of an edge: it does not point to the start
	doubtful     = 1 << 30 // bit of an edge: it is most likely none
	kindBits     = interior | doubtful
	maxNodes     = 1<<30 - 2
)

// Build reads the blocks of a set.
func Build(m Memory, set *blocks.Set, o Options) (*Graph, error) {
	g := &Graph{set: set, memory: m, limit: o.MaxBytes, whole: o.Whole, content: o.Content}
	if g.limit == 0 {
		g.limit = defaultLimit
	}
	if err := g.number(); err != nil {
		return nil, err
	}
	g.objects = newBits(g.nodes)
	if g.content != nil {
		g.findObjects()
	}
	return g, g.readAll(o.Doubtful)
}

// number gives each block a number.
func (g *Graph) number() error {
	regions := g.set.Regions()
	for _, r := range regions {
		g.bases = append(g.bases, uint32(g.nodes))
		if g.nodes += r.Len(); g.nodes > maxNodes || uint64(g.nodes)*(perNode+perEdge) > g.limit {
			return fmt.Errorf("%d blocks: %w", g.nodes, ErrLimit)
		}
	}
	if len(regions) > 0 {
		g.span = blocks.Range{Start: regions[0].Start, End: regions[len(regions)-1].End}
	}
	return nil
}

// findObjects asks where the objects in the blocks begin.
func (g *Graph) findObjects() {
	g.before = make([]uint8, 0, g.nodes)
	for _, r := range g.set.Regions() {
		for b := range r.All() {
			before, ok := uint8(0), false
			if !b.Free {
				before, ok = g.content.Object(b.Range)
			}
			if ok {
				g.objects.set(uint32(len(g.before)))
			}
			g.before = append(g.before, before)
		}
	}
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
	before := uint64(0)
	if g.before != nil {
		before = uint64(g.before[n])
	}
	switch offset := address - start; {
	case offset < before:
		n |= doubtful
	case offset > before:
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
func (g *Graph) Len() (nodes, pointers int) {
	for i := range g.rows {
		pointers += int(g.rows[i].n)
	}
	return g.nodes, pointers
}

// Unreadable returns the number of bytes of blocks and roots that could not be read. If it is not 0,
// nothing can be said to be lost.
func (g *Graph) Unreadable() uint64 { return g.unreadable }
