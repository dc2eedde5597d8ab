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

// groups yields the site of each group, and the number of curves that were judged for it. A series may have many,
// of which few are listed.
func (j *judgement) groups(groups [][]symbolize.SiteID) iter.Seq2[*Site, int] {
	return func(yield func(*Site, int) bool) {
		for i, members := range groups {
			if s, tested := j.group(members, j.crowd.inStep(i)); !yield(&s, tested) {
				return
			}
		}
	}
}

// group judges a group and, if it does not leak, its members: other members may hide the growth of
// one. A member that leaks makes the group a leak, as a part of it, unless
//   - the other members shrink by as much: then allocations only moved from one caller to another,
//   - its curve follows the others: then it is no more evidence of a leak than the group.
func (j *judgement) group(members []symbolize.SiteID, inStep float64) (whole Site, tested int) {
	whole = j.site(members, inStep)
	if whole.Label.IsLeak() || len(members) == 1 {
		return whole, 1
	}
	if whole.WorkIsLoad { // then it is that of each call path
		overTime := *j
		overTime.scope.work = nil
		j = &overTime
	}
	var leaks []Site
	rest := slices.Clone(members)
	for _, m := range members {
		s := j.site([]symbolize.SiteID{m}, inStep)
		if s.Label.IsLeak() && !s.follows(&whole) && j.lost(members, &s) < 0.5*float64(s.Gained) {
			leaks = append(leaks, s)
			rest = slices.DeleteFunc(rest, func(other symbolize.SiteID) bool { return other == m })
		}
	}
	tested = 1 + len(members)
	if len(leaks) == 0 {
		return whole, tested
	}
	if len(rest) > 0 {
		leaks = append(leaks, j.site(rest, inStep))
		tested++
	}
	rank(leaks)
	whole.join(leaks)
	return whole, tested
}

// join makes a site of its parts, the worst first: its verdict is that of the worst one.
func (s *Site) join(parts []Site) {
	s.Verdict, s.Members, s.Blame = parts[0].Verdict, nil, parts[0].Blame
	for i := range parts {
		p := &parts[i]
		s.Members = append(s.Members, p.Members...)
		s.Parts = append(s.Parts, Part{p.Verdict, p.Gained, p.Members})
	}
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

// site judges the sum of some call paths. inStep is described at [trend.Points]. Code that runs once, such as that
// of a module that is imported, does not leak: the probability of a leak is that of the other call paths.
func (j *judgement) site(ids []symbolize.SiteID, inStep float64) Site {
	s := j.curve(ids)
	importing, rest := j.importing(ids, s.Gained)
	once := j.gained(importing)
	if s.Gained > 0 {
		s.ImportShare = max(0, min(1, float64(once)/float64(s.Gained)))
	}
	s.Verdict = j.judge(ids, s.Gained, s.ImportShare, inStep)
	if len(importing) > 0 {
		s.Verdict = s.Verdict.Of(j.judge(rest, s.Gained-once, 0, inStep), j.options)
	}
	s.Members = j.byGrowth(ids)
	s.Blame, _ = j.blamer.Blame(j.stack(s.Members[0]))
	return s
}

// curve is the sum of some call paths, without a verdict.
func (j *judgement) curve(ids []symbolize.SiteID) Site {
	column := sumOf(j.columns, ids, j.scope.series.Heads)
	s := siteOf(column, len(j.scope.series.Heads))
	first, last := j.scope.ends(column)
	s.Gained, s.Held = last-first, last
	return s
}

// judge judges the sum of some call paths by its curve; there may be none.
func (j *judgement) judge(ids []symbolize.SiteID, gained int64, importShare, inStep float64) trend.Verdict {
	p := j.scope.points(sumOf(j.columns, ids, j.scope.series.Heads))
	p.MedianRise, p.InStep, p.Dominates = j.medianRise, inStep, 2*gained > j.heapGained
	p.Growers, p.Share = j.crowd.growers, float64(gained)/float64(max(1, j.heapGained))
	p.ImportShare = importShare
	return trend.Judge(p, j.options)
}

// stack is the stack of a call path, the innermost frame first.
func (j *judgement) stack(site symbolize.SiteID) []symbolize.LocationID {
	return j.symbols.Stack(j.symbols.SiteStack(site))
}

// importing returns the call paths that grew while Python imported modules, and the others. Those of a site that grew
// too little to be judged are not looked at.
func (j *judgement) importing(ids []symbolize.SiteID, gained int64) (importing, others []symbolize.SiteID) {
	if float64(gained) < trend.LeastScale*j.options.MinGrowth {
		return nil, ids
	}
	for _, s := range ids {
		if j.scope.gained(j.columns[s]) > 0 && j.blamer.Importing(j.stack(s)) {
			importing = append(importing, s)
		} else {
			others = append(others, s)
		}
	}
	return importing, others
}

// imported are the bytes in use, by snapshot, of the call paths that grew while Python imported modules.
func (j *judgement) imported(groups [][]symbolize.SiteID) []int64 {
	sum := make([]int64, len(j.scope.series.Heads))
	for _, members := range groups {
		importing, _ := j.importing(members, j.gained(members))
		for _, m := range importing {
			addVisible(sum, j.columns[m])
		}
	}
	return sum
}

// gained is the growth of some call paths.
func (j *judgement) gained(ids []symbolize.SiteID) (bytes int64) {
	for _, s := range ids {
		bytes += j.scope.gained(j.columns[s])
	}
	return bytes
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
