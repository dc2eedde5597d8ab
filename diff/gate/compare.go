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
	// lowest is what a loss must fall below to be more than the usual variation.
	lowest float64
	// known is the standard deviation of the difference that is known without other runs: sampling,
	// the error of a slope.
	known float64
	// rising is the standard deviation of the row in the base that is due to its trend.
	rising float64
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
	out := comparison{view: v, heap: v.change(heap, rs, total)}
	out.changes = make([]change, len(rows))
	candidates := 0
	for i, r := range rows {
		c := v.change(r, rs, total)
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

// change measures a row. total is the whole heap of the base, which the threshold Share refers to.
func (v *view) change(r *row, rs runs, total float64) change {
	c := change{
		before: v.before(r.levels), after: v.bytes(0, r.levels[0]), set: v.values(r.levels, v.set),
		known: v.known(r.levels), rising: v.rising(r.levels),
		least: max(r.limits.Bytes, r.limits.Share*math.Abs(total)), hidden: v.hidden(r, rs),
	}
	c.floor = leastNoise * max(math.Abs(c.before), r.limits.Bytes)
	c.scatter = max(scatter(c.set), c.floor)
	c.lowest = v.lowest(c)
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
	return math.Hypot(v.metric.known(0, levels[0]), v.median(v.metric.known, levels))
}

// rising is the standard deviation that the values of a row have in the base because of its trend:
// those of a line over a range are spread evenly over it.
func (v *view) rising(levels []baseline.Level) float64 {
	if v.metric.rise == nil {
		return 0
	}
	return max(0, v.median(v.metric.rise, levels)) / math.Sqrt(12)
}

// median is the median of a quantity in the base.
func (v *view) median(quantity func(int, baseline.Level) float64, levels []baseline.Level) float64 {
	base := make([]float64, len(v.centre))
	for i, run := range v.centre {
		base[i] = quantity(run, levels[run])
	}
	return stats.Median(base)
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
