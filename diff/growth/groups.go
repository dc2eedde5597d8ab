package growth

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// groups are the call paths of a series, sorted into sites.
type groups struct {
	// members are the call paths of each site, in order of first appearance.
	members [][]symbolize.SiteID
	// kept is the number of call paths that passed the filter.
	kept       int
	suppressed []Suppressed
	// heap is the size of the heap that is judged, by snapshot: what the filter keeps, without what
	// is suppressed.
	heap []int64
	// visible is the part of it that the snapshots show.
	visible []int64
}

// groupsOf groups the call paths that the filter keeps and that no suppression names.
func groupsOf(c *curves, symbols *symbolize.Symbols, blamer *class.Blamer, o Options) groups {
	g := groups{visible: slices.Clone(c.visible)}
	keys, suppressor := group.NewKeys(symbols, blamer, o.GroupBy), group.NewSuppressor(symbols, o.Suppressions)
	suppressed := make([]int64, len(c.visible))
	ownHeap := c.series.OwnHeap() != ""
	leaveOut := func(path symbolize.SiteID) {
		addVisible(g.visible, c.column(path), -1)
		addVisible(suppressed, c.column(path), 1)
	}
	var index group.Index
	for i, gained := range c.gained {
		path := symbolize.SiteID(i)
		if !o.Filter.Keep(symbols.SiteStack(path)) {
			addVisible(g.visible, c.column(path), -1)
			continue
		}
		// What a language maps for a heap of its own is a part of what is not recorded.
		if ownHeap && blamer.Mapped(symbols.Stack(symbols.SiteStack(path))) {
			leaveOut(path)
			continue
		}
		g.kept++
		if e := suppressor.Entry(path); e != nil {
			g.suppressed = withSuppressed(g.suppressed, Suppressed{e, 1, gained})
			leaveOut(path)
			continue
		}
		n, added := index.Number(keys.Of(path))
		if added {
			g.members = append(g.members, nil)
		}
		g.members[n] = append(g.members[n], path)
	}
	g.heap = g.visible
	if o.Filter == nil {
		g.heap = heapWithout(suppressed, c.series.Heads)
	}
	return g
}

// heapWithout are the sizes of the heap without what is suppressed. They include what truncated
// snapshots hide.
func heapWithout(suppressed []int64, heads []*series.Head) []int64 {
	out := make([]int64, len(heads))
	for i, h := range heads {
		out[i] = h.Heap().InuseBytes - suppressed[i]
	}
	return out
}

// gained is the growth of the heap within the window.
func (g *groups) gained(w *window) int64 { return g.heap[w.Last] - g.heap[w.First] }

// hiddenGrowth is the growth of the heap that truncated snapshots do not show.
func (g *groups) hiddenGrowth(w *window) int64 {
	if w.period > 0 {
		return 0 // the sum of estimates differs from the estimate of the sum
	}
	return max(0, g.heap[w.Last]-g.visible[w.Last]-(g.heap[w.First]-g.visible[w.First]))
}

// withSuppressed adds to the total of a suppression.
func withSuppressed(list []Suppressed, s Suppressed) []Suppressed {
	i := slices.IndexFunc(list, func(o Suppressed) bool { return o.Entry == s.Entry })
	if i < 0 {
		return append(list, s)
	}
	list[i].Sites += s.Sites
	list[i].Gained += s.Gained
	return list
}
