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
	// moved is how much before is larger if what other rows had in earlier runs counts for this one.
	moved float64
	// set are the values in the baseline set, with what moved.
	set []float64
	// known is the standard deviation of the difference that is known without other runs: sampling,
	// the error of a slope.
	known float64
	// unsteady is the standard deviation of the row in the base that is due to its span.
	unsteady float64
	// floor is the smallest noise.
	floor float64
	// scatter is the standard deviation between runs, not scaled for their number, at least that of
	// the smallest noise. noise is the standard deviation that the change is divided by, and need
	// the number of them that it must reach.
	scatter, noise, need float64
	// least is the smallest change that the row's thresholds in bytes allow to regress.
	least float64
	// hidden is the most that truncated snapshots of the base may hide of the row.
	hidden float64
}

func (c change) delta() float64 { return c.after - c.before }

// rest is the part of the change that is judged.
func (c change) rest() float64 { return c.delta() - c.moved }

// listed reports whether the change is large or sure enough to be listed: what may regress, or a
// tenth of that and more than a sample or two.
func (c change) listed() bool {
	const deviations = 2
	size := math.Abs(c.delta())
	return size >= c.least || weigh(size, c.noise, c.need) >= c.least/10 && size >= deviations*c.known
}

// weigh returns the size that a difference counts with: its own, or more if it is surer than
// required. A difference that is twice as sure counts twice.
func weigh(delta, noise, need float64) float64 {
	surety := 1.0
	if need > 0 && noise > 0 {
		surety = max(1, math.Abs(ratio(delta, noise))/need)
	}
	return math.Abs(delta) * surety
}

// compareRows measures all rows, and the heap as a whole, in one view.
func compareRows(v *view, rs runs, rows []*row, heap *row) comparison {
	total := 0.0
	for _, run := range v.centre {
		total += v.heap(run, rs.all[run].Total) / float64(len(v.centre))
	}
	out := comparison{view: v, heap: v.change(heap, v.history(heap), rs, total)}
	out.changes = make([]change, len(rows))
	histories := make([]history, len(rows))
	for i, r := range rows {
		histories[i] = v.history(r)
		out.changes[i] = v.change(r, histories[i], rs, total)
	}
	out.moves = findMoves(v, rows, histories, out.changes)
	candidates := 0
	for i, r := range rows {
		before := out.changes[i].before
		c := v.change(r, histories[i], rs, total)
		c.before, c.moved = before, c.before-before
		largest := max(c.before, c.after)
		if largest >= c.least || v.significant() && weigh(largest, c.floor, r.limits.Z) >= c.least {
			candidates++
		}
		out.changes[i] = c
	}
	calibrate, leastZ := v.calibrator(), correctedZ(candidates)
	out.heap.judgeNoise(v, heap.limits.need(0), calibrate)
	for i, r := range rows {
		out.changes[i].judgeNoise(v, r.limits.need(leastZ), calibrate)
	}
	return out
}

// change measures a row by its history. total is the whole heap of the base, which the threshold
// Share refers to.
func (v *view) change(r *row, h history, rs runs, total float64) change {
	c := change{
		before: v.median(h.values), after: h.values[0], set: pickRuns(h.values, v.set),
		known: v.known(h), unsteady: v.unsteady(h),
		least: max(r.limits.Bytes, r.limits.Share*math.Abs(total)), hidden: v.hidden(r, rs),
	}
	c.floor = leastNoise * max(math.Abs(c.before), r.limits.Bytes)
	c.scatter = max(scatter(c.set), c.floor)
	return c
}

// history is a row in every run.
type history struct {
	values   []float64
	variance []float64 // of the values, as far as it is known without other runs
	span     []float64 // how far the values range within the run
}

// history returns the values of a row.
func (v *view) history(r *row) history {
	n := len(r.levels)
	h := history{make([]float64, n), make([]float64, n), make([]float64, n)}
	for _, run := range append([]int{0}, v.runs()...) {
		h.values[run] = v.bytes(run, r.levels[run])
		known := v.metric.known(run, r.levels[run])
		h.variance[run] = known * known
		if v.metric.span != nil {
			h.span[run] = v.metric.span(run, r.levels[run])
		}
	}
	return h
}

// runs are the earlier runs of the view: those of the baseline set, and the reference run if it is
// compared with.
func (v *view) runs() []int {
	out := slices.Clone(v.set)
	for _, run := range v.centre {
		if !slices.Contains(out, run) {
			out = append(out, run)
		}
	}
	return out
}

// pickRuns are the values of some runs.
func pickRuns(values []float64, runs []int) []float64 {
	out := make([]float64, len(runs))
	for i, run := range runs {
		out[i] = values[run]
	}
	return out
}

// median is the median of a quantity in the base.
func (v *view) median(quantity []float64) float64 { return stats.Median(pickRuns(quantity, v.centre)) }

// before is the value of the base.
func (v *view) before(levels []baseline.Level) float64 {
	out := make([]float64, len(v.centre))
	for i, run := range v.centre {
		out[i] = v.bytes(run, levels[run])
	}
	return stats.Median(out)
}

// known is the standard deviation of the difference that the runs have by themselves.
func (v *view) known(h history) float64 {
	deviations := make([]float64, len(h.variance))
	for i, x := range h.variance {
		deviations[i] = math.Sqrt(x)
	}
	return math.Hypot(deviations[0], v.median(deviations))
}

// unsteady is the standard deviation that the values of a row have in the base because of its span:
// those of a line over a range are spread evenly over it.
func (v *view) unsteady(h history) float64 { return max(0, v.median(h.span)) / math.Sqrt(12) }

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
