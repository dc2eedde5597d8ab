package growth

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/group"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// grouped is the sites of a series, sorted into groups.
type grouped struct {
	// members are the groups and their sites, in order of first appearance.
	members [][]symbolize.SiteID
	// kept is the number of sites that passed the filter.
	kept       int
	suppressed []Suppressed
	// heap is the size of the heap that is judged, by snapshot: what the filter keeps, without what
	// is suppressed.
	heap []int64
	// visible is the part of it that the snapshots show.
	visible []int64
}

// groupSites groups the sites that the filter keeps and that no suppression names.
func groupSites(s scope, symbols *symbolize.Symbols, blamer *class.Blamer, columns []sites.Column, o Options) grouped {
	g := grouped{}
	keys, suppressor := group.NewKeys(symbols, blamer, o.GroupBy), group.NewSuppressor(symbols, o.Suppressions)
	shown, suppressed := make([]int64, len(s.series.Heads)), make([]int64, len(s.series.Heads))
	var index group.Index
	for i := range columns {
		site := symbolize.SiteID(i)
		if !o.Filter.Keep(symbols.SiteStack(site)) {
			continue
		}
		g.kept++
		if e := suppressor.Entry(site); e != nil {
			g.suppressed = addSuppressed(g.suppressed, Suppressed{e, 1, s.gained(columns[site])})
			addVisible(suppressed, columns[site])
			continue
		}
		addVisible(shown, columns[site])
		n, added := index.Number(keys.Of(site))
		if added {
			g.members = append(g.members, nil)
		}
		g.members[n] = append(g.members[n], site)
	}
	g.heap, g.visible = heapSizes(s, shown, suppressed, o.Filter != nil), shown
	return g
}

// hiddenGrowth is the growth of the heap that truncated snapshots do not show.
func (g *grouped) hiddenGrowth(s scope) int64 {
	if s.period > 0 {
		return 0 // the sum of estimates differs from the estimate of the sum
	}
	return max(0, g.heap[s.Last]-g.visible[s.Last]-(g.heap[s.First]-g.visible[s.First]))
}

// heapSizes are the sizes of the heap that is judged. Without a filter they include what truncated
// snapshots hide.
func heapSizes(s scope, shown, suppressed []int64, filtered bool) []int64 {
	if filtered {
		return shown
	}
	out := make([]int64, len(s.series.Heads))
	for i, h := range s.series.Heads {
		out[i] = h.Heap().InuseBytes - suppressed[i]
	}
	return out
}

// addSuppressed adds to the total of a suppression.
func addSuppressed(list []Suppressed, s Suppressed) []Suppressed {
	i := slices.IndexFunc(list, func(o Suppressed) bool { return o.Entry == s.Entry })
	if i < 0 {
		return append(list, s)
	}
	list[i].Sites += s.Sites
	list[i].Gained += s.Gained
	return list
}

// addVisible adds the visible values of a column to a sum.
func addVisible(sum []int64, c sites.Column) {
	for i, b := range c.Bytes {
		if b != sites.Hidden {
			sum[i] += b
		}
	}
}
