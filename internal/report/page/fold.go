package page

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// smaller is the name of the call paths that are folded below a function.
const smaller = "(smaller call paths)"

// Folded counts what is too small to be shown by itself.
type Folded struct {
	// CallPaths is the number of folded call paths. InuseShare is their largest share of the heap
	// at any moment, 0 to 1.
	CallPaths  int     `json:"call_paths"`
	InuseShare float64 `json:"inuse_share"`
	// Sites is the number of sites that share one row.
	Sites int `json:"sites"`
}

// fold returns a grid with the largest leaves, by their share of the bytes in use at any moment or
// of all allocated bytes at the end. The other leaves of a site become one, below the function that
// they have in common, so that the sum of each site stays the same. g does not change.
func (g *grid) fold(keep int, totals *columns, smaller int) (*grid, Folded) {
	if len(g.leaves) <= keep {
		return g, Folded{}
	}
	order := g.bySize(totals)
	slices.Sort(order[:keep]) // in order of appearance
	out := newGrid(g.tree.functions[0])
	for _, i := range order[:keep] {
		l := &g.leaves[i]
		node := out.include(g.path(l.node), l)
		out.tree.addPlaces(node, g.tree, l.node)
	}
	common := g.commonPaths(order[keep:], g.ancestors(order[:keep]))
	for _, i := range order[keep:] {
		l := &g.leaves[i]
		out.include(append(slices.Clone(common[l.site]), smaller), l)
	}
	return out, Folded{CallPaths: len(order) - keep, InuseShare: g.share(order[keep:], totals)}
}

// commonPaths are, by site, the functions that the paths of some leaves have in common, as far as
// their nodes are kept.
func (g *grid) commonPaths(leaves []int, kept []bool) map[int][]int {
	common := map[int][]int{}
	for _, i := range leaves {
		node := g.leaves[i].node
		for !kept[node] {
			node = g.tree.parents[node]
		}
		path := g.path(node)
		if known, ok := common[g.leaves[i].site]; ok {
			path = path[:text.Common(path, known)]
		}
		common[g.leaves[i].site] = path
	}
	return common
}

// include adds a leaf below some functions, and returns its node.
func (g *grid) include(functions []int, l *leaf) (node int) {
	at := &g.leaves[g.leaf(functions, l.site)]
	at.include(&l.columns)
	return at.node
}

// path is the functions of a node, outermost first, without the heap.
func (g *grid) path(node int) (out []int) {
	for ; node > 0; node = g.tree.parents[node] {
		out = append(out, g.tree.functions[node])
	}
	slices.Reverse(out)
	return out
}

// bySize orders leaves by their weight, the heaviest first.
func (g *grid) bySize(totals *columns) []int {
	weights := make([]float64, len(g.leaves))
	for i := range g.leaves {
		weights[i] = g.leaves[i].weight(totals)
	}
	order := upTo(len(g.leaves))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	return order
}

// weight is the largest share of the heap at any moment, or of all allocated bytes at the end.
func (c *columns) weight(totals *columns) (w float64) {
	for i, v := range c[InuseBytes] {
		w = max(w, share(v, at(totals[InuseBytes], i)))
	}
	if a := c[AllocBytes]; a != nil {
		w = max(w, share(a[len(a)-1], at(totals[AllocBytes], len(a)-1)))
	}
	return w
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// share is the largest share of the heap that some leaves have together at any moment.
func (g *grid) share(leaves []int, totals *columns) (most float64) {
	var sum columns
	for _, i := range leaves {
		sum.include(&g.leaves[i].columns)
	}
	for i, v := range sum[InuseBytes] {
		most = max(most, share(v, at(totals[InuseBytes], i)))
	}
	return most
}

// ancestors marks the nodes on the paths of some leaves.
func (g *grid) ancestors(leaves []int) []bool {
	kept := make([]bool, len(g.tree.parents))
	kept[0] = true
	for _, i := range leaves {
		for n := g.leaves[i].node; !kept[n]; n = g.tree.parents[n] {
			kept[n] = true
		}
	}
	return kept
}
