package growth

import (
	"cmp"
	"iter"
	"slices"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// judgement judges sites by what the steps before found. Its methods do not change it.
type judgement struct {
	*curves
	cohort  cohort
	work    work
	ages    *ages.Ages // may be nil
	symbols *symbolize.Symbols
	blamer  *class.Blamer
	options trend.Options
	// heapGained is the growth of the heap.
	heapGained int64
}

// judged is the verdict on a group, and the number of curves that were judged for it.
type judged struct {
	site   Site
	tested int
}

// batch is the number of groups that are judged at a time. A series may have many, of which few are
// listed.
const batch = 256

// sites yields the verdicts on groups in order.
func (j *judgement) sites(groups [][]symbolize.SiteID) iter.Seq[judged] {
	return func(yield func(judged) bool) {
		for first := 0; first < len(groups); first += batch {
			for _, v := range j.sideBySide(groups, first, min(first+batch, len(groups))) {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// sideBySide judges the groups from ≤ i < to.
func (j *judgement) sideBySide(groups [][]symbolize.SiteID, from, to int) []judged {
	out := make([]judged, to-from)
	onAllProcessors(len(out), func(numbers iter.Seq[int]) {
		for k := range numbers {
			out[k].site, out[k].tested = j.group(groups[from+k], j.cohort.inStep(from+k))
		}
	})
	return out
}

// group judges a group and, if it does not leak, its members: other members may hide the growth of
// one. A member that leaks makes the group a leak, as a part of it, unless
//   - the other members shrink by as much: then allocations only moved from one caller to another,
//   - its curve follows the others: then it is no more evidence of a leak than the group.
func (j *judgement) group(members []symbolize.SiteID, inStep float64) (whole Site, tested int) {
	column := j.columns.Sum(members)
	whole = j.siteOf(column, members, inStep)
	if whole.Label.IsLeak() || len(members) == 1 {
		return whole, 1
	}
	if whole.WorkIsLoad { // then it is that of each call path
		j = j.overTime()
	}
	var leaks []Site
	var lives [][]float64 // few groups need them
	rest := slices.Clone(members)
	for i, s := range j.each(members, inStep) {
		if !s.Label.IsLeak() {
			continue
		}
		one := j.column(members[i])
		if follows(one, column) {
			continue
		}
		if lives == nil {
			lives = j.lives(members)
		}
		if j.lost(lives, i, one, s.Gained) < 0.5*float64(s.Gained) {
			leaks = append(leaks, s)
			rest = slices.DeleteFunc(rest, func(other symbolize.SiteID) bool { return other == members[i] })
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
	return joined(&whole, ranked(leaks)), tested
}

// each judges call paths one by one.
func (j *judgement) each(ids []symbolize.SiteID, inStep float64) []Site {
	out := make([]Site, len(ids))
	onAllProcessors(len(ids), func(numbers iter.Seq[int]) {
		for i := range numbers {
			out[i] = j.site(ids[i:i+1], inStep)
		}
	})
	return out
}

// overTime judges without the work of the process.
func (j *judgement) overTime() *judgement {
	out := *j
	out.work = work{}
	return &out
}

// joined returns a site with its parts, the worst first: its verdict is that of the worst one.
func joined(whole *Site, parts []Site) Site {
	out := Site{Verdict: parts[0].Verdict, Gained: whole.Gained, Held: whole.Held}
	for i := range parts {
		p := &parts[i]
		out.Members = append(out.Members, p.Members...)
		out.Parts = append(out.Parts, Part{p.Verdict, p.Gained, p.Members})
	}
	return out
}

// lives are the values of call paths; nil of one that a snapshot hides.
func (j *judgement) lives(ids []symbolize.SiteID) [][]float64 {
	out := make([][]float64, len(ids))
	for i, id := range ids {
		if live := j.live(j.column(id)); len(live) == j.Len() {
			out[i] = live
		}
	}
	return out
}

// lost is what the call paths of a group have shrunk by since one of them, the leak, began to grow.
// That one is not counted.
func (j *judgement) lost(lives [][]float64, leak int, column sites.Column, gained int64) (lost float64) {
	begin, bytes := j.First, column.Bytes
	first := bytes[begin]
	if first == sites.Hidden {
		first = 0
	}
	for i := begin; i <= j.Last; i++ {
		if bytes[i] != sites.Hidden && bytes[i] <= first+gained/20 {
			begin = i
		}
	}
	for i, live := range lives {
		if live != nil && i != leak {
			lost += max(0, levelBefore(live, begin-j.First)-levelBefore(live, len(live)-1))
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

// follows reports whether the curve of a call path is that of the rest of its group.
func follows(path, group sites.Column) bool {
	var own, rest []float64
	for i, b := range path.Bytes {
		if b != sites.Hidden { // then the group is not hidden either
			own = append(own, float64(b))
			rest = append(rest, float64(group.Bytes[i]-b))
		}
	}
	return stats.Explained(own, rest) >= sameCurve
}

// site judges the sum of some call paths. inStep is described at [trend.Points]. Code that runs
// once, such as that of a module that is imported, does not leak: the probability of a leak is that
// of the other call paths.
func (j *judgement) site(ids []symbolize.SiteID, inStep float64) Site {
	return j.siteOf(j.columns.Sum(ids), ids, inStep)
}

// siteOf is site for call paths whose sum is known.
func (j *judgement) siteOf(column sites.Column, ids []symbolize.SiteID, inStep float64) Site {
	first, last := j.ends(column)
	s := Site{Gained: last - first, Held: last, Members: j.byGrowth(ids)}
	importing, rest := j.importing(ids, s.Gained)
	once, share := j.growth(importing), 0.
	if s.Gained > 0 {
		share = max(0, min(1, float64(once)/float64(s.Gained)))
	}
	s.Verdict = j.judge(ids, column, s.Gained, share, inStep)
	if len(importing) > 0 {
		s.Verdict = s.Verdict.Of(j.judge(rest, j.columns.Sum(rest), s.Gained-once, 0, inStep), j.options)
	}
	return s
}

// shown returns a site with its values in all snapshots, and the frame that it is attributed to:
// what only those that are shown need.
func (j *judgement) shown(s Site) Site {
	s.Blame, _ = j.blamer.Blame(j.stack(s.Members[0]))
	return withValues(s, j.columns.Sum(s.Members))
}

// allShown returns sites as shown does.
func (j *judgement) allShown(list []Site) []Site {
	out := slices.Clone(list)
	for i := range out {
		out[i] = j.shown(out[i])
	}
	return out
}

// judge judges some call paths by the curve of their sum, all of which may be hidden, and by their births.
func (j *judgement) judge(
	ids []symbolize.SiteID, column sites.Column, gained int64, importShare, inStep float64,
) trend.Verdict {
	p := j.points(column, j.work)
	p.Births = j.births(ids)
	p.MedianRise, p.InStep, p.Dominates = j.medianRise, inStep, 2*gained > j.heapGained
	p.Growers, p.Share = j.cohort.growers, float64(gained)/float64(max(1, j.heapGained))
	p.ImportShare = importShare
	return trend.Judge(p, j.options)
}

// stack is the stack of a call path, the innermost frame first.
func (j *judgement) stack(path symbolize.SiteID) []symbolize.LocationID {
	return j.symbols.Stack(j.symbols.SiteStack(path))
}

// importing returns the call paths that grew while Python imported modules, and the others. Those of a site that grew
// too little to be judged are not looked at.
func (j *judgement) importing(ids []symbolize.SiteID, gained int64) (importing, others []symbolize.SiteID) {
	if float64(gained) < trend.LeastScale*j.options.MinGrowth {
		return nil, ids
	}
	for _, id := range ids {
		if j.gained[id] > 0 && j.blamer.Importing(j.stack(id)) {
			importing = append(importing, id)
		} else {
			others = append(others, id)
		}
	}
	return importing, others
}

// allImporting returns the call paths of all groups as importing does.
func (j *judgement) allImporting(groups [][]symbolize.SiteID) (importing, others []symbolize.SiteID) {
	for _, members := range groups {
		some, rest := j.importing(members, j.growth(members))
		importing, others = append(importing, some...), append(others, rest...)
	}
	return importing, others
}

// sum are the visible bytes of some call paths by snapshot.
func (j *judgement) sum(ids []symbolize.SiteID) []int64 {
	sum := make([]int64, len(j.series.Heads))
	for _, id := range ids {
		addVisible(sum, j.column(id), 1)
	}
	return sum
}

// byGrowth orders call paths by their growth, largest first.
func (j *judgement) byGrowth(ids []symbolize.SiteID) []symbolize.SiteID {
	return slices.SortedStableFunc(slices.Values(ids), func(a, b symbolize.SiteID) int {
		return cmp.Compare(j.gained[b], j.gained[a])
	})
}
