package gate

import "github.com/heaplapse/heaplapse/diff/baseline"

// Compare compares the current run with a set of earlier good runs, with a reference run (may be
// nil), or with both. The order of the set does not matter, and each run counts once. The first run
// has nothing to compare with, and passes. Runs that are not comparable, or will not be, are a
// [*NotComparableError], unless o.Force is set.
func Compare(current *baseline.Run, set []*baseline.Run, reference *baseline.Run, o Options) (*Result, error) {
	rs, notes := selectRuns(current, set, reference)
	mismatches := rs.mismatches()
	if len(mismatches) > 0 && !o.Force {
		return nil, &NotComparableError{mismatches}
	}
	notes = append(notes, forced(mismatches)...)
	if len(rs.earlier()) == 0 {
		return &Result{Verdict: Pass, Current: current, FirstRun: true, Notes: append(notes, rs.ofCurrent()...)}, nil
	}
	notes = append(notes, rs.caveats()...)

	sites, tiers := matchSites(rs.all, o.Suppressions)
	rows := groupSites(sites, o)
	heap := wholeHeap(rs, rows, o)
	var comparisons []comparison
	for _, v := range rs.views() {
		comparisons = append(comparisons, compareRows(v, rs, rows, heap))
	}
	result, regressed, moved := decide(rows, heap, comparisons)
	if result.Total.Status == Regressed && !regressesAlone(rs, regressed, rows, o) {
		result.Total.Status = Changed
	}
	result.Current, result.Baselines, result.Reference = current, rs.baselines(), rs.referenceRun()
	result.Significance = len(rs.set) >= LeastBaselines
	result.Tiers = tiers
	if all := tiers.Bytes(); all > 0 {
		result.MovedShare = max(0, min(moved/all, result.UnmatchedShare()))
	}
	if o.Suppressions != nil {
		result.Expired = o.Suppressions.Expired
	}

	unrelated := result.unrelated(comparisons)
	if len(unrelated) > 0 && !o.Force {
		return nil, &NotComparableError{unrelated}
	}
	notes = append(notes, unusedRules(rows, o)...)
	notes = append(notes, excluded(rows)...)
	result.Notes = append(notes, forced(unrelated)...)
	return result, nil
}

// Refuse returns the result of runs that are not comparable: it only has the runs.
func Refuse(current *baseline.Run, set []*baseline.Run, reference *baseline.Run) *Result {
	rs, _ := selectRuns(current, set, reference)
	return &Result{Verdict: Refused, Current: current, Baselines: rs.baselines(), Reference: rs.referenceRun()}
}
