package page

import (
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Kind is one of the four values of a snapshot, an index of columns.
type Kind int

// The kinds, in the order of [Kinds].
const (
	InuseBytes Kind = iota
	InuseObjects
	AllocBytes
	AllocObjects
)

// Kinds are their names in JSON.
var Kinds = [...]string{"inuse_bytes", "inuse_objects", "alloc_bytes", "alloc_objects"}

// values are counts in the order of the kinds.
func values(c heapfile.Counts) [4]int64 {
	return [4]int64{c.InuseBytes, c.InuseObjects, c.AllocBytes, c.AllocObjects}
}

// columns are values by kind and moment. A nil column is all zeros.
type columns [4][]int64

// add adds counts at a moment of n.
func (c *columns) add(moment, n int, v [4]int64) {
	for k, x := range v {
		if x == 0 {
			continue
		}
		if c[k] == nil {
			c[k] = make([]int64, n)
		}
		c[k][moment] += x
	}
}

// include adds the columns o.
func (c *columns) include(o *columns) {
	for k := range o {
		if o[k] != nil && c[k] == nil {
			c[k] = make([]int64, len(o[k]))
		}
		for i, x := range o[k] {
			c[k][i] += x
		}
	}
}

// at is a value at a moment.
func at(column []int64, moment int) int64 {
	if column == nil {
		return 0
	}
	return column[moment]
}

// leaf is the memory that one site allocated on one call path.
type leaf struct {
	node, site int
	columns
}

// grid is the leaves of a tree.
type grid struct {
	tree   *tree
	leaves []leaf
	index  map[[2]int]int
}

func newGrid(heap int) *grid { return &grid{tree: newTree(heap), index: map[[2]int]int{}} }

// leaf returns the leaf of a site below some functions, outermost first.
func (g *grid) leaf(functions []int, site int) int {
	node := 0
	for _, f := range functions {
		node = g.tree.child(node, f)
	}
	key := [2]int{node, site}
	i, ok := g.index[key]
	if !ok {
		i = len(g.leaves)
		g.index[key] = i
		g.leaves = append(g.leaves, leaf{node: node, site: site})
	}
	return i
}

// collector sums the rows of the chosen snapshots by leaf. They are read again because the growth
// result has no columns by call path and no numbers of allocated objects.
type collector struct {
	symbols *symbolize.Symbols
	moments int
	siteOf  []int // row by SiteID; -1 if the site is not shown
	paths   *pather
	grid    *grid
	leafOf  []int // by StackID: leaf + 1
	// first and last are the bytes in use by SiteID at the first and the last judged snapshot.
	first, last []int64
}

// visit adds a snapshot as a moment.
func (c *collector) visit(moment int, s *series.Snapshot, judged [2]int) {
	for _, row := range s.Samples {
		site := c.symbols.Site(row.Stack)
		if c.siteOf[site] < 0 {
			continue
		}
		e := s.Estimate(row)
		leaf := c.leaf(row.Stack, site)
		c.grid.leaves[leaf].add(moment, c.moments, values(e))
		if s.Index == judged[0] {
			c.first[site] += e.InuseBytes
		}
		if s.Index == judged[1] {
			c.last[site] += e.InuseBytes
			c.addPlaces(row.Stack, leaf, e.InuseBytes)
		}
	}
}

// leaf is the leaf of a stack.
func (c *collector) leaf(id heapfile.StackID, site symbolize.SiteID) int {
	if c.leafOf[id] == 0 {
		path, _ := c.paths.path(c.symbols.Stack(id))
		leaf := c.grid.leaf(c.paths.functions(path), c.siteOf[site])
		c.leafOf[id] = leaf + 1
		c.addPlaces(id, leaf, 0)
	}
	return c.leafOf[id] - 1
}

// addPlaces adds the frames of a stack to the nodes of its leaf.
func (c *collector) addPlaces(id heapfile.StackID, leaf int, bytes int64) {
	path, blame := c.paths.path(c.symbols.Stack(id))
	c.grid.tree.add(c.grid.leaves[leaf].node, path, blame, bytes)
}
