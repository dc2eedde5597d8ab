package gate

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// comparison is all rows in one view.
type comparison struct {
	view    *view
	heap    change   // of the heap as a whole
	changes []change // parallel to the rows
	moves   []move   // parallel to the rows
}

// change is the difference of one row in one view. All numbers are in bytes, in every metric.
type change struct {
	before, after float64
	// set are the values in the baseline set.
	set []float64
	// lowest is what a loss must fall below to be more than the usual variation. It is set if the
	// change is listed.
	lowest float64
	// known is the standard deviation of the difference that is known without other runs: sampling,
	// the error of a slope.
	known float64
	// scatter is the standard deviation between runs, not scaled for their number, at least 2 % of
	// before. It is set if the change is listed.
	scatter float64
	// least is the smallest change that the row's thresholds in bytes allow to regress.
	least float64
	// hidden is the most that truncated snapshots of the base may hide of the row.
	hidden float64
}

func (c change) delta() float64 { return c.after - c.before }

// listed reports whether the change is large enough to be listed: a tenth of what may regress.
func (c change) listed() bool { return math.Abs(c.delta()) >= c.least/10 }

// compareRows measures all rows, and the heap as a whole, in one view.
func compareRows(v *view, rs runs, rows []*row, heap *row) comparison {
	total := 0.0
	for _, run := range v.centre {
		total += v.heap(run, rs.all[run].Total) / float64(len(v.centre))
	}
	out := comparison{view: v, heap: v.change(heap, rs, total)}
	out.changes = make([]change, len(rows))
	for i, r := range rows {
		out.changes[i] = v.change(r, rs, total)
	}
	return out
}

// change measures a row. total is the whole heap of the base, which the threshold Share refers to.
func (v *view) change(r *row, rs runs, total float64) change {
	c := change{
		before: v.before(r.levels), after: v.bytes(0, r.levels[0]), set: v.values(r.levels, v.set),
		known: v.known(r.levels), least: max(r.limits.Bytes, r.limits.Share*math.Abs(total)), hidden: v.hidden(r, rs),
	}
	if c.listed() {
		c.scatter = max(scatter(c.set), leastNoise*math.Abs(c.before))
		c.lowest = v.lowest(c)
	}
	return c
}

// values are a quantity in some runs.
func (v *view) values(levels []baseline.Level, runs []int) []float64 {
	out := make([]float64, len(runs))
	for i, run := range runs {
		out[i] = v.bytes(run, levels[run])
	}
	return out
}

// before is the value of the base.
func (v *view) before(levels []baseline.Level) float64 {
	return stats.Median(v.values(levels, v.centre))
}

// known is the standard deviation of the difference that the runs have by themselves.
func (v *view) known(levels []baseline.Level) float64 {
	base := make([]float64, len(v.centre))
	for i, run := range v.centre {
		base[i] = v.metric.known(run, levels[run])
	}
	return math.Hypot(v.metric.known(0, levels[0]), stats.Median(base))
}

// lowest returns the lowest value of the set, or the second lowest of ten or more. Against the
// reference run it returns before, because what was lost since that run is missing in the set, too.
func (v *view) lowest(c change) float64 {
	if v.base == BaseReference || len(c.set) == 0 {
		return c.before
	}
	values := slices.Sorted(slices.Values(c.set))
	if len(values) >= leastRobust {
		values = values[1:]
	}
	return values[0]
}

// hidden is the most that truncation may hide of a row that the base does not show: AbsentMax for
// each call path, and no more than all that the run hides.
func (v *view) hidden(r *row, rs runs) (most float64) {
	if r.sites == nil {
		return 0 // of the whole heap, nothing is hidden
	}
	for _, run := range v.centre {
		if r.levels[run] == (baseline.Level{}) {
			base := rs.all[run]
			most = max(most, min(float64(base.Meta.AbsentMax)*float64(r.stacks()), max(0, base.Rest.Bytes)))
		}
	}
	return most
}
