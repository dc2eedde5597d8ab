package gate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// runs are the runs of one comparison. Run 0 is the current one, then come those of the baseline
// set, the latest first, then the reference run.
type runs struct {
	all       []*baseline.Run
	set       []int // indices of the baseline set
	reference int   // index of the reference run, 0 for none
}

func (rs runs) current() *baseline.Run     { return rs.all[0] }
func (rs runs) earlier() []*baseline.Run   { return rs.all[1:] }
func (rs runs) baselines() []*baseline.Run { return rs.all[1 : 1+len(rs.set)] }

func (rs runs) referenceRun() *baseline.Run {
	if rs.reference == 0 {
		return nil
	}
	return rs.all[rs.reference]
}

// selectRuns orders the runs, and counts each once.
//
// If a run counted twice, as snapshots and as a baseline, the noise between runs would be
// underestimated. If the current run were in the set, it would hide its own regression. The
// reference run is in the set only if the set has fewer than LeastBaselines others.
func selectRuns(current *baseline.Run, set []*baseline.Run, reference *baseline.Run) (runs, []Note) {
	distinct := dedupe(latestFirst(set))
	var notes []Note
	if n := len(set) - len(distinct); n > 0 {
		notes = append(notes, Note{Kind: NoteDuplicateRuns, Count: n})
	}
	if others := without(distinct, current); len(others) < len(distinct) && len(others) > 0 {
		distinct, notes = others, append(notes, Note{Kind: NoteCurrentAmongBaselines})
	}
	if others := without(distinct, reference); len(others) >= LeastBaselines {
		distinct = others
	}
	if len(distinct) == 1 && sameRun(distinct[0], reference) {
		reference = nil // the two comparisons would be the same
	}
	rs := runs{all: append([]*baseline.Run{current}, distinct...)}
	for i := range distinct {
		rs.set = append(rs.set, i+1)
	}
	if reference != nil {
		rs.reference = len(rs.all)
		rs.all = append(rs.all, reference)
	}
	return rs, notes
}

// latestFirst sorts runs by time, and by name where times are equal, so that the order in which
// they are given does not matter.
func latestFirst(set []*baseline.Run) []*baseline.Run {
	out := slices.Clone(set)
	slices.SortStableFunc(out, func(a, b *baseline.Run) int {
		return cmp.Or(b.Meta.When().Compare(a.Meta.When()), strings.Compare(b.Meta.Name, a.Meta.Name))
	})
	return out
}

// dedupe keeps the first of several summaries of one run.
func dedupe(list []*baseline.Run) (out []*baseline.Run) {
	for _, r := range list {
		if !slices.ContainsFunc(out, func(o *baseline.Run) bool { return sameRun(o, r) }) {
			out = append(out, r)
		}
	}
	return out
}

func without(list []*baseline.Run, r *baseline.Run) []*baseline.Run {
	return slices.DeleteFunc(slices.Clone(list), func(o *baseline.Run) bool { return sameRun(o, r) })
}

// sameRun reports whether two summaries are of the same run, regardless of their names: of one
// build, with the last snapshot at the same time (a baseline's file keeps milliseconds) and the
// same heap. Without a clock the answer is no.
func sameRun(a, b *baseline.Run) bool {
	switch {
	case a == nil || b == nil:
		return false
	case a == b:
		return true
	}
	recorded := func(r *baseline.Run) time.Time { return r.Meta.Recorded.Truncate(time.Millisecond) }
	return !recorded(a).IsZero() && recorded(a).Equal(recorded(b)) &&
		a.Meta.BuildID == b.Meta.BuildID && a.Total == b.Total
}
