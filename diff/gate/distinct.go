package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// distinct is a pool in which each run counts once, neither the current run nor, unless fewer than four others are there, the pinned one. A run that is
// there twice, such as its snapshots and their baseline, would make the scatter between runs smaller than it is; the current one
// would hide its own regression.
func distinct(pool []*baseline.Run, current, pinned *baseline.Run) (out []*baseline.Run, notes []string) {
	for _, r := range pool {
		if !holds(out, r) {
			out = append(out, r)
		}
	}
	switch n := len(pool) - len(out); {
	case n == 1:
		notes = append(notes, "an earlier run is given twice: it counts once")
	case n > 1:
		notes = append(notes, fmt.Sprintf("earlier runs are given more than once: each counts once, %d are left out", n))
	}
	if others := without(out, current); len(others) < len(out) && len(others) > 0 {
		out, notes = others, append(notes, "the current run is one of the earlier ones, too: left out there")
	}
	if others := without(out, pinned); len(others) >= LeastBaselines {
		out = others
	}
	return out, notes
}

func holds(list []*baseline.Run, r *baseline.Run) bool {
	return slices.ContainsFunc(list, func(o *baseline.Run) bool { return sameRun(o, r) })
}

func without(list []*baseline.Run, r *baseline.Run) []*baseline.Run {
	return slices.DeleteFunc(slices.Clone(list), func(o *baseline.Run) bool { return sameRun(o, r) })
}

// sameRun says whether two summaries are of one run, whatever they are called: of one build, with the last snapshot at the same moment (a baseline's file keeps
// milliseconds) and the same heap. Without a clock nobody can tell.
func sameRun(a, b *baseline.Run) bool {
	switch {
	case a == nil || b == nil:
		return false
	case a == b:
		return true
	}
	moment := func(r *baseline.Run) time.Time { return r.Meta.Recorded.Truncate(time.Millisecond) }
	return !moment(a).IsZero() && moment(a).Equal(moment(b)) && a.Meta.BuildID == b.Meta.BuildID && a.Total == b.Total
}
