package growth

import (
	"cmp"
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// judgement is what sites are judged by.
type judgement struct {
	scope   scope
	columns []sites.Column // by SiteID
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	options trend.Options
	// heapGained is the growth of the heap.
	heapGained int64
	// medianRise is the median rise of the sites that change.
	medianRise float64
	crowd      crowd
}

// judged is the sites of a group, and the number of curves that were judged to find them.
type judged struct {
	sites  []Site
	tested int
}

// groups yields the sites of each group. A series may have many, of which few are listed.
func (j *judgement) groups(groups [][]symbolize.SiteID) iter.Seq[judged] {
	return func(yield func(judged) bool) {
		for i, members := range groups {
			if len(members) == 0 {
				continue // they were moved to another group
			}
			if !yield(j.group(members, j.crowd.inStep(i))) {
				return
			}
		}
	}
}

// group judges a group and, if it does not leak, its members: other members may hide the growth of
// one. A member that leaks is listed separately, unless
//   - the other members shrink by as much: then allocations only moved from one caller to another,
//   - its curve follows the others: then it is no more evidence of a leak than the group.
func (j *judgement) group(members []symbolize.SiteID, inStep float64) judged {
	whole := j.site(members, inStep)
	out := judged{tested: 1}
	if whole.Label.IsLeak() || len(members) == 1 {
		out.sites = []Site{whole}
		return out
	}
	var leaks []Site
	for _, m := range members {
		if s := j.site([]symbolize.SiteID{m}, inStep); s.Label.IsLeak() {
			leaks = append(leaks, s)
		}
	}
	out.tested += len(members)
	rest := slices.Clone(members)
	for _, s := range leaks {
		if !s.follows(&whole) && j.lost(members, &s) < 0.5*float64(s.Gained) {
			out.sites = append(out.sites, s)
			rest = slices.DeleteFunc(rest, func(m symbolize.SiteID) bool { return m == s.Members[0] })
		}
	}
	switch len(rest) {
	case 0:
		return out
	case len(members):
		out.sites = append(out.sites, whole)
	default:
		out.sites = append(out.sites, j.site(rest, inStep))
		out.tested++
	}
	return out
}

// lost is what the call paths of a group have shrunk by since one of them began to grow.
func (j *judgement) lost(members []symbolize.SiteID, leak *Site) (lost float64) {
	begin := j.scope.First
	for i := begin; i <= j.scope.Last; i++ {
		if leak.Visible[i] && leak.Bytes[i] <= leak.Bytes[j.scope.First]+leak.Gained/20 {
			begin = i
		}
	}
	for _, m := range members {
		live, _ := j.scope.live(j.columns[m])
		if from := begin - j.scope.First; len(live) == j.scope.Len() && m != leak.Members[0] {
			lost += max(0, levelBefore(live, from)-levelBefore(live, len(live)-1))
		}
	}
	return lost
}

// levelBefore is the median of up to three values that end at an index: one value may be an outlier.
func levelBefore(live []float64, at int) float64 {
	return stats.Median(live[max(0, at-2) : at+1])
}

// sameCurve is the share of a curve's variation that another must explain for both to be one curve.
const sameCurve = 0.97

// follows reports whether the curve of a site is that of the rest of its group.
func (s *Site) follows(group *Site) bool {
	var own, rest []float64
	for i, visible := range group.Visible {
		if visible && s.Visible[i] {
			own = append(own, float64(s.Bytes[i]))
			rest = append(rest, float64(group.Bytes[i]-s.Bytes[i]))
		}
	}
	return stats.Explained(own, rest) >= sameCurve
}

// site judges the sum of some call paths. inStep is described at [trend.Points].
func (j *judgement) site(ids []symbolize.SiteID, inStep float64) Site {
	column := sumOf(j.columns, ids, j.scope.series.Heads)
	s := siteOf(column, len(j.scope.series.Heads))
	s.Gained = j.scope.gained(column)
	p := j.scope.points(column)
	p.MedianRise, p.InStep, p.Dominates = j.medianRise, inStep, 2*s.Gained > j.heapGained
	p.Growers, p.Share = j.crowd.growers, float64(s.Gained)/float64(max(1, j.heapGained))
	p.Once = j.once(ids, s.Gained)
	s.Verdict = trend.Judge(p, j.options)
	s.Members = j.byGrowth(ids)
	s.Blame, _ = j.blamer.Blame(j.stack(s.Members[0]))
	return s
}

// stack is the stack of a call path, the innermost frame first.
func (j *judgement) stack(site symbolize.SiteID) []symbolize.LocationID {
	return j.symbols.Stack(j.symbols.SiteStack(site))
}

// once is the share of a growth that call paths gained while Python imported modules.
func (j *judgement) once(ids []symbolize.SiteID, gained int64) float64 {
	if float64(gained) < trend.LeastScale*j.options.MinGrowth {
		return 0 // it is not judged
	}
	var once int64
	for _, s := range ids {
		if g := j.scope.gained(j.columns[s]); g > 0 && j.blamer.Importing(j.stack(s)) {
			once += g
		}
	}
	return min(1, float64(once)/float64(gained))
}

// sumOf is the column of some call paths.
func sumOf(columns []sites.Column, ids []symbolize.SiteID, heads []*series.Head) sites.Column {
	if len(ids) == 1 {
		return columns[ids[0]]
	}
	members := make([]sites.Column, len(ids))
	for i, s := range ids {
		members[i] = columns[s]
	}
	return sites.Sum(members, heads)
}

// siteOf has the values of a column, over n snapshots.
func siteOf(c sites.Column, n int) Site {
	s := Site{Bytes: make([]int64, n), Objects: make([]int64, n), Visible: make([]bool, n)}
	for i := range n {
		if c.Bytes[i] != sites.Hidden {
			s.Bytes[i], s.Objects[i], s.Visible[i] = c.Bytes[i], c.Objects[i], true
		}
	}
	return s
}

// byGrowth orders call paths by their growth, largest first.
func (j *judgement) byGrowth(ids []symbolize.SiteID) []symbolize.SiteID {
	if len(ids) == 1 {
		return ids
	}
	grew := make(map[symbolize.SiteID]int64, len(ids))
	for _, s := range ids {
		grew[s] = j.scope.gained(j.columns[s])
	}
	out := slices.Clone(ids)
	slices.SortStableFunc(out, func(a, b symbolize.SiteID) int { return cmp.Compare(grew[b], grew[a]) })
	return out
}

// leastRising is the minimum size in bytes of a site whose rise is a sign of load. Sites of a few
// objects rise by chance.
const leastRising = 4 << 10

// medianRise is the median rise of the sites that change and exist early, the larger one of two. Rising load moves
// many sites at once, a leak one.
func medianRise(s scope, columns []sites.Column) float64 {
	var rises []float64
	for _, c := range columns {
		if live, changes := s.live(c); changes && trend.Early(live) >= leastRising {
			rises = append(rises, trend.Rise(live))
		}
	}
	if len(rises) == 0 {
		return 0
	}
	slices.Sort(rises)
	return rises[len(rises)/2]
}

// live are the visible values of a column, and whether they differ from the first.
func (s *scope) live(c sites.Column) (live []float64, changes bool) {
	for i := s.First; i <= s.Last; i++ {
		if c.Bytes[i] != sites.Hidden {
			live = append(live, float64(c.Bytes[i]))
			changes = changes || live[0] != live[len(live)-1]
		}
	}
	return live, changes
}
