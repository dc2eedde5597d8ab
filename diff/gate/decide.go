package gate

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// finding is one row in one view, judged.
type finding struct {
	view   *view
	change change
	move   move
	value  Value // in the unit of the metric
}

// decide sets the status of every row and the verdict of the run. It returns the rows that regressed,
// too, and the unmatched bytes of those that moved.
func decide(rows []*row, heap *row, comparisons []comparison) (result *Result, regressed []*row, moved float64) {
	byView, ofHeap := make([][]finding, len(comparisons)), make([]finding, len(comparisons))
	for i, c := range comparisons {
		byView[i], ofHeap[i] = c.judge(rows, heap)
	}
	result = &Result{Verdict: Pass, Tested: len(rows), Total: heapRow(heap, ofHeap)}
	var listed, same []decided
	findings := make([]finding, len(comparisons)) // of one row
	for i, r := range rows {
		for k := range byView {
			findings[k] = byView[k][i]
		}
		status, by := r.decide(findings)
		d := r.decided(status, findings, by, rows)
		switch status {
		case Regressed:
			regressed = append(regressed, r)
		case Moved:
			moved += r.unmatched()
		}
		if status == Unchanged {
			same = append(same, d)
		} else {
			listed = append(listed, d)
		}
	}
	result.Unchanged = len(same)
	result.Rows, result.Same = sorted(listed), sorted(same)
	if result.Total.Status == Regressed || len(regressed) > 0 {
		result.Verdict = Fail
	}
	return result, regressed, moved
}

// sorted are rows in the order of a result.
func sorted(list []decided) (out []Row) {
	slices.SortStableFunc(list, compareDecided)
	for _, d := range list {
		out = append(out, d.Row)
	}
	return out
}

// judge applies the thresholds to all rows, and to the heap as a whole.
func (c comparison) judge(rows []*row, heap *row) (list []finding, whole finding) {
	list = make([]finding, len(rows))
	for i, r := range rows {
		list[i] = c.find(r, c.changes[i], c.moves[i])
	}
	return list, c.find(heap, c.heap, move{})
}

// find judges one row.
func (c comparison) find(r *row, x change, m move) finding {
	v := c.view
	f := finding{view: v, change: x, move: m}
	f.value = Value{Metric: v.name, Base: v.base, Judged: v.judged, Before: x.before, After: x.after, Moved: x.moved}
	if f.reaches(r.limits) {
		f.value.Exceeds = ratio(f.value.Rest(), x.noise) >= x.need
		if !f.value.Exceeds {
			f.value.Doubt, f.value.Chance = x.doubt(v), x.need*x.noise
		}
	}
	if v.significant() {
		f.value.Noise, f.value.Z, f.value.Need = x.noise, ratio(f.value.Rest(), x.noise), x.need
	}
	f.value = f.value.inUnits(v)
	return f
}

// need returns the z that a row must reach: the one that the caller chose, else at least leastZ,
// which depends on the number of rows.
func (l limits) need(leastZ float64) float64 {
	if l.chosenZ {
		return l.Z
	}
	return max(l.Z, leastZ)
}

// ratio is a difference in standard deviations.
func ratio(delta, noise float64) float64 {
	if delta == 0 {
		return 0
	}
	return max(-MaxZ, min(MaxZ, delta/noise))
}

// reaches reports whether the judged part of the change reaches all thresholds but that of the noise.
// f.value is still in bytes. A size that the caller chose is not lowered for a change that is surer than required.
func (f finding) reaches(l limits) bool {
	rest := f.value.Rest() - f.change.hidden
	if f.view.name == MetricSlope {
		rest = min(rest, f.change.after) // a row that shrinks more slowly does not grow
	}
	percent := 0.0
	if base := math.Abs(f.change.before) + max(0, f.value.Moved); base > 0 {
		percent = 100 * rest / base
	} else if rest > 0 {
		percent = math.Inf(1)
	}
	return rest > 0 && f.large(l, rest) && percent >= l.Percent
}

// large reports whether an amount reaches the thresholds in bytes. In a small set, the noise is not
// known well enough to lower them.
func (f finding) large(l limits, amount float64) bool {
	if l.chosenSize || !f.view.significant() {
		return amount >= f.change.least
	}
	return weigh(amount, f.change.noise, f.change.need) >= f.change.least
}

// inUnits converts a value from bytes to the unit of its metric. Runs may have different factors.
func (v Value) inUnits(w *view) Value {
	base := make([]float64, len(w.centre))
	for i, run := range w.centre {
		base[i] = w.unit(run)
	}
	before, after := stats.Median(base), w.unit(0)
	changed := v.Rest() != 0
	v.Before, v.After, v.Moved, v.Chance = v.Before*before, v.After*after, v.Moved*after, v.Chance*after
	if v.Z != 0 && changed {
		v.Noise = v.Rest() / v.Z
	} else {
		v.Noise *= after
	}
	return v
}

// size is the judged part of the change in bytes, in every metric.
func (f finding) size() float64 { return f.value.Rest() / f.view.unit(0) }

// decide returns the status of a row, and the index of the finding that it rests on.
func (r *row) decide(findings []finding) (Status, int) {
	if i := worst(findings); i >= 0 {
		if r.suppression != nil {
			return Suppressed, i
		}
		return Regressed, i
	}
	i := largestShown(findings)
	if i < 0 {
		return Unchanged, 0
	}
	f := findings[i]
	switch {
	case f.change.mostlyMoved():
		return Moved, i
	case r.isNew():
		return New, i
	case r.isGone():
		return Gone, i
	case f.improved(r.limits):
		return Improved, i
	case math.Abs(f.change.delta()) >= max(leastNoise*math.Abs(f.change.before), f.change.known):
		return Changed, i
	}
	return Unchanged, 0
}

// worst is the judged finding that exceeds its thresholds by most bytes, -1 for none. Bytes in use
// count before allocated bytes.
func worst(findings []finding) int {
	best, most := -1, 0.0
	for i, f := range findings {
		if !f.value.Exceeds || !f.value.Judged {
			continue
		}
		size := f.size()
		if f.view.name == MetricAllocated {
			size = 0
		}
		if best < 0 || size > most {
			best, most = i, size
		}
	}
	return best
}

// largestShown is the largest change in the first metric that shows one, -1 for none.
func largestShown(findings []finding) int {
	hasSet := slices.ContainsFunc(findings, func(f finding) bool { return f.view.base == BaseSet })
	best := -1
	for i, f := range findings {
		if !f.shown(hasSet) {
			continue
		}
		if best < 0 {
			best = i
		}
		b := findings[best]
		if f.view.name == b.view.name && math.Abs(f.change.delta()) > math.Abs(b.change.delta()) {
			best = i
		}
	}
	return best
}

// shown reports whether a change that did not regress is worth showing. Slopes and allocated bytes
// vary all the time: they must differ clearly, and reach the thresholds if they cannot fail the
// gate. Rows that decreased or moved since the reference run are shown against it only if there is
// no set: otherwise the same rows would be listed every night.
func (f finding) shown(hasSet bool) bool {
	switch {
	case !f.change.listed():
		return false
	case f.view.base == BaseReference && hasSet && (f.change.delta() < 0 || f.change.mostlyMoved()):
		return false
	case f.view.name == MetricLevel:
		return true
	case !f.view.judged:
		return f.value.Exceeds
	}
	return math.Abs(f.change.delta()) >= leastLoss*max(f.change.known, f.change.scatter)
}

// improved reports whether a row lost as much as it must not gain.
func (f finding) improved(l limits) bool {
	loss := -f.change.rest()
	return loss > 0 && f.large(l, loss) && 100*loss >= l.Percent*f.change.before &&
		ratio(loss, f.change.noise) >= f.change.need
}

// decided is a row of the result, and the size of its change in bytes.
type decided struct {
	Row
	size float64
}

// decided returns a row with its status, which the finding with the index by decided.
func (r *row) decided(status Status, findings []finding, by int, rows []*row) decided {
	f := findings[by]
	out := Row{
		Status: status, Values: valuesOf(findings, by), Tier: r.tier(), Function: r.function,
		Site: r.representative(f), Stacks: r.stacks(), Thresholds: r.limits.Thresholds,
		Suppression: r.suppression, Fingerprint: r.fingerprint,
	}
	for _, other := range f.move.with {
		out.MovedWith = append(out.MovedWith, rows[other].function)
	}
	return decided{out, math.Abs(f.size())}
}

// valuesOf are the values of findings, that of the finding with the index first before the others.
func valuesOf(findings []finding, first int) []Value {
	out := []Value{findings[first].value}
	for i, f := range findings {
		if i != first {
			out = append(out, f.value)
		}
	}
	return out
}

// representative is the site that changed most in the direction of the row, of the current run
// unless the row is gone.
func (r *row) representative(f finding) *baseline.Site {
	sign := math.Copysign(1, f.value.Delta())
	gain := func(s *site) float64 { return sign * (f.view.bytes(0, s.levels[0]) - f.view.before(s.levels)) }
	return slices.MaxFunc(r.current(), func(a, b *site) int {
		return cmp.Or(cmp.Compare(gain(a), gain(b)), cmp.Compare(a.Bytes, b.Bytes))
	}).Site
}

// compareDecided orders the rows of a result: regressed, suppressed, the rest; each by the size of
// the change.
func compareDecided(a, b decided) int {
	order := func(s Status) int {
		switch s {
		case Regressed:
			return 0
		case Suppressed:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(order(a.Status), order(b.Status)), cmp.Compare(b.size, a.size),
		cmp.Compare(a.Function, b.Function))
}

// regressesAlone reports whether the heap regresses without the rows that regressed.
func regressesAlone(rs runs, regressed, rows []*row, o Options) bool {
	heap := heapWithout(rs, o, slices.DeleteFunc(slices.Clone(rows), func(r *row) bool {
		return !r.excluded() && !slices.Contains(regressed, r)
	}))
	var findings []finding
	for _, v := range rs.views() {
		c := compareRows(v, rs, nil, heap)
		findings = append(findings, c.find(heap, c.heap, move{}))
	}
	return worst(findings) >= 0
}

// heapRow is the heap as a whole.
func heapRow(heap *row, findings []finding) Row {
	out := Row{Status: Unchanged, Tier: identity.Unmatched, Thresholds: heap.limits.Thresholds}
	if i := worst(findings); i >= 0 {
		out.Status, out.Values = Regressed, valuesOf(findings, i)
		return out
	}
	out.Values = valuesOf(findings, 0)
	if v := out.Values[0]; v.Delta() != 0 && math.Abs(v.Delta()) >= leastNoise*math.Abs(v.Before) {
		out.Status = Changed
	}
	return out
}
