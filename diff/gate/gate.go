package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
)

// Compare compares a run with a pool of earlier good ones, with a pinned one (nil for none), or with both. The order of the pool
// means nothing. Runs that do not compare are an [ErrNotComparable].
func Compare(current *baseline.Run, pool []*baseline.Run, pinned *baseline.Run, o Options) (*Result, error) {
	if len(pool) == 0 && pinned == nil {
		return nil, errors.New("nothing to compare with: no baseline")
	}
	c := newComparer(current, pool, pinned, o)
	if err := c.check(); err != nil {
		return nil, err
	}
	c.doubts()
	c.judge()
	if err := c.recognise(); err != nil {
		return nil, err
	}
	c.conclude()
	return c.result, nil
}

// comparer holds the runs: the current one is number 0, then the pool, the latest first, then the pinned one.
type comparer struct {
	runs   []*baseline.Run
	pool   []int // numbers of runs
	pinned int   // 0 for none
	o      Options
	rows   []*row
	whole  *row
	views  []*lens
	result *Result
}

func newComparer(current *baseline.Run, pool []*baseline.Run, pinned *baseline.Run, o Options) *comparer {
	pool, notes := distinct(latestFirst(pool), current, pinned)
	if len(pool) == 1 && sameRun(pool[0], pinned) {
		pinned = nil // one run has one answer
	}
	c := &comparer{runs: append([]*baseline.Run{current}, pool...), o: o}
	for i := range pool {
		c.pool = append(c.pool, i+1)
	}
	if pinned != nil {
		c.pinned = len(c.runs)
		c.runs = append(c.runs, pinned)
	}
	c.result = &Result{Current: current, Baselines: c.runs[1 : 1+len(pool)], Reference: pinned, Significance: len(pool) >= LeastBaselines, Notes: notes}
	return c
}

func (c *comparer) notef(format string, args ...any) {
	c.result.Notes = append(c.result.Notes, fmt.Sprintf(format, args...))
}

// doubts notes what makes the comparison less sure, or a part of it impossible.
func (c *comparer) doubts() {
	for _, n := range c.runs[0].Meta.Notes {
		c.notef("current run: %s", n)
	}
	if !c.result.Significance {
		c.notef("fewer than %d baselines (%d): the noise between runs is not known, the thresholds alone decide", LeastBaselines, len(c.pool))
	}
	c.programs()
	c.omissions()
	for _, r := range c.runs {
		if m := r.Meta.AbsentMax; m > 0 {
			c.notef("%s: the allocator cut its snapshots: a stack that is absent may have %d bytes", r.Meta.Name, m)
			break
		}
	}
}

// judge compares every row in every way.
func (c *comparer) judge() {
	cat := newCatalogue(c.runs, c.o.Suppressions)
	c.rows, c.result.Tiers = cat.rows(), cat.tiers
	c.result.Tested = len(c.rows)
	c.limit()
	c.whole = c.total()
	c.views = c.lenses()
	values := map[*row][]Value{}
	shifted := map[*row][]*shift{}
	for _, l := range c.views {
		c.through(l, values, shifted)
	}
	for _, r := range c.rows {
		c.list(r, values[r], shifted[r])
	}
	c.rank()
	c.result.Total = c.totalRow(values[c.whole])
}

// limit gives every row its thresholds, and notes the rules that hold for none: they may be misspelt.
func (c *comparer) limit() {
	used := make([]bool, len(c.o.Sites))
	for _, r := range c.rows {
		rule := c.o.rule(r)
		r.limits, r.chosen = c.o.thresholds(r, rule)
		r.own, r.stacks = rule >= 0, c.stacks(r)
		if r.own {
			used[rule] = true
		}
	}
	for i, s := range c.o.Sites {
		if !used[i] {
			c.notef("no function matches %s: its thresholds hold for nothing", s.Pattern)
		}
	}
}

func (c *comparer) stacks(r *row) (n int) {
	for _, e := range r.entries {
		if e.levels[0] != (baseline.Level{}) {
			n++
		}
	}
	if n == 0 {
		return len(r.entries)
	}
	return n
}

// total is the heap as a whole, without what is suppressed or has thresholds of its own: that may grow.
func (c *comparer) total() *row {
	out := &row{total: true}
	for i, run := range c.runs {
		l := run.Total
		for _, r := range c.rows {
			if r.suppression != nil || r.own {
				l.Bytes -= r.levels[i].Bytes
				l.Slope -= r.levels[i].Slope
				l.AllocBytes -= r.levels[i].AllocBytes
			}
		}
		out.levels = append(out.levels, l)
	}
	out.limits, out.chosen = c.o.thresholds(out, -1)
	c.excused()
	return out
}

// excused notes what the heap as a whole is judged without.
func (c *comparer) excused() {
	n, bytes := 0, 0.0
	for _, r := range c.rows {
		if r.suppression != nil || r.own {
			n++
			bytes += r.levels[0].Bytes
		}
	}
	if n > 0 {
		c.notef("the heap as a whole is judged without the %.1f MiB of %s with suppressions or thresholds of their own", bytes/(1<<20), functions(n))
	}
}

// through looks at all rows, and at the heap as a whole, through one lens.
func (c *comparer) through(l *lens, values map[*row][]Value, shifted map[*row][]*shift) {
	for _, run := range l.centre {
		l.total += l.whole(run, c.runs[run].Total) / float64(len(l.centre))
	}
	var shifts []*shift
	large := 0
	for _, r := range c.rows {
		before, after := l.before(r), l.after(r)
		if max(before, after) >= l.least(r) {
			large++
		}
		if math.Abs(after-before) >= l.least(r)/notable {
			shifts = append(shifts, &shift{row: r, delta: after - before, lost: l.lost(r), fresh: c.fresh(r), gone: c.gone(r)})
		}
	}
	findMoves(shifts)
	l.need = required(1e-9, large)
	of := map[*row]*shift{}
	for _, s := range shifts {
		of[s.row] = s
	}
	for _, r := range c.rows {
		values[r] = append(values[r], c.value(l, r, of[r], l.need))
		shifted[r] = append(shifted[r], of[r])
	}
	values[c.whole] = append(values[c.whole], c.value(l, c.whole, nil, 0))
}

// notable is the part of a threshold from which on a change is told at all.
const notable = 10

// least is the least change in bytes that a row's thresholds allow to fail.
func (l *lens) least(r *row) float64 {
	return max(r.limits.Bytes, r.limits.Share*math.Abs(l.total))
}

// fresh says that no earlier run has the row, gone that the current one has not.
func (c *comparer) fresh(r *row) bool {
	for i := 1; i < len(r.levels); i++ {
		if r.levels[i] != (baseline.Level{}) {
			return false
		}
	}
	return true
}

func (c *comparer) gone(r *row) bool { return r.levels[0] == baseline.Level{} }

// value compares one row through a lens. What moved is taken off, and the noise of where it came from is added.
func (c *comparer) value(l *lens, r *row, s *shift, atLeast float64) Value {
	before, after := l.before(r), l.after(r)
	v := Value{Metric: l.metric, Base: l.base, Before: before, After: after, Judged: l.judged}
	need := r.need(atLeast)
	noise := l.uncertainty(r, max(need, 1))
	if s != nil {
		v.Moved = math.Copysign(s.moved(), s.delta)
		for _, o := range s.with {
			noise = math.Hypot(noise, l.scatter(o.row))
		}
	}
	z := ratio(v.Rest(), noise)
	v.Exceeds = c.exceeds(l, r, v, z, need)
	if l.signify {
		v.Noise, v.Z, v.Need = noise, z, need
	}
	return v.in(l)
}

// need is the z that a row must reach: the threshold that was chosen for it, else the default one or what the number of rows asks for.
func (r *row) need(atLeast float64) float64 {
	if r.chosen {
		return r.limits.Z
	}
	return max(r.limits.Z, atLeast)
}

// ratio is a difference in standard deviations.
func ratio(delta, noise float64) float64 {
	if delta == 0 {
		return 0
	}
	return max(-MaxZ, min(MaxZ, delta/noise))
}

// exceeds says whether what is left of a change reaches all thresholds.
func (c *comparer) exceeds(l *lens, r *row, v Value, z, need float64) bool {
	rest := v.Rest() - c.hidden(l, r)
	if l.metric == MetricSlope {
		rest = min(rest, v.After) // what falls no longer does not grow yet
	}
	share := 0.0
	if base := math.Abs(v.Before) + math.Max(0, v.Moved); base > 0 {
		share = 100 * rest / base
	} else if rest > 0 {
		share = math.Inf(1)
	}
	return rest > 0 && rest >= l.least(r) && share >= r.limits.Percent && z >= need
}

// hidden is the most that truncation may hide of a row that its base does not show.
func (c *comparer) hidden(l *lens, r *row) float64 {
	most := 0.0
	for _, run := range l.centre {
		if m := c.runs[run].Meta.AbsentMax; m > 0 && !r.total && r.levels[run] == (baseline.Level{}) {
			most = max(most, min(float64(m)*float64(r.stacks), max(0, c.runs[run].Rest.Bytes)))
		}
	}
	return most
}

// in turns a value into what is shown.
func (v Value) in(l *lens) Value {
	before := make([]float64, len(l.centre))
	for i, run := range l.centre {
		before[i] = l.unit(run)
	}
	b, a := median(before), l.unit(0)
	delta := v.Rest()
	v.Before, v.After, v.Moved = v.Before*b, v.After*a, v.Moved*a
	if v.Z != 0 && delta != 0 {
		v.Noise = v.Rest() / v.Z
	} else {
		v.Noise *= a
	}
	return v
}

// list decides what happened to a row, and lists it unless nothing did.
func (c *comparer) list(r *row, values []Value, shifts []*shift) {
	out := Row{
		Function: r.name, Tier: r.tier(), Stacks: r.stacks, Suppression: r.suppression, Thresholds: r.limits, Fingerprint: c.fingerprint(r),
	}
	if c.fresh(r) || c.gone(r) {
		out.Tier = identity.Unmatched
	}
	first := c.decide(r, &out, values, shifts)
	if out.Status == "" {
		c.result.Unchanged++
		return
	}
	l := c.views[first]
	sign := math.Copysign(1, values[first].Delta())
	out.Site = r.representative(func(e *entry) float64 { return sign * l.change(e) })
	out.Values = append([]Value{values[first]}, slices.Delete(slices.Clone(values), first, first+1)...)
	out.size = l.bytes(values[first])
	out.MovedWith = movedWith(shifts[first])
	c.result.Rows = append(c.result.Rows, out)
}

// change of one entry.
func (l *lens) change(e *entry) float64 {
	before := make([]float64, len(l.centre))
	for i, run := range l.centre {
		before[i] = l.of(run, e.levels[run])
	}
	return l.of(0, e.levels[0]) - median(before)
}

// bytes is what is left of a change, in bytes whatever the metric.
func (l *lens) bytes(v Value) float64 { return v.Rest() / l.unit(0) }

func movedWith(s *shift) (out []string) {
	if s == nil {
		return nil
	}
	for _, o := range s.with {
		out = append(out, o.row.name)
	}
	return out
}

// decide sets the status, "" for none, and returns the value that decided.
func (c *comparer) decide(r *row, out *Row, values []Value, shifts []*shift) (first int) {
	if i := c.worst(values); i >= 0 {
		out.Status = Regressed
		if r.suppression != nil {
			out.Status = Suppressed
		}
		return i
	}
	i := c.largest(r, values, shifts)
	if i < 0 {
		return 0
	}
	s := shifts[i]
	switch {
	case s.mostlyMoved():
		out.Status = Moved
	case s.fresh:
		out.Status = New
	case s.gone:
		out.Status = Gone
	case c.improved(r, c.views[i], s):
		out.Status = Improved
	case math.Abs(s.delta) >= max(leastNoise*math.Abs(c.views[i].before(r)), c.views[i].known(r)):
		out.Status = Changed
	}
	return i
}

// worst is the value that exceeds its thresholds by most bytes, -1 for none. What is in use counts before what was allocated.
func (c *comparer) worst(values []Value) int {
	worst := -1
	for i, v := range values {
		if !v.Exceeds || !v.Judged {
			continue
		}
		if worst < 0 || c.rankOf(i, v) > c.rankOf(worst, values[worst]) {
			worst = i
		}
	}
	return worst
}

func (c *comparer) rankOf(i int, v Value) float64 {
	if v.Metric == MetricAllocated {
		return 0
	}
	return c.views[i].bytes(v)
}

// largest is the shift of most bytes that is worth telling, among the levels, else among the other lenses; -1 for none.
func (c *comparer) largest(r *row, values []Value, shifts []*shift) int {
	best := -1
	for i, s := range shifts {
		if s == nil || !c.worthTelling(r, c.views[i], values[i], s) {
			continue
		}
		if best < 0 || (c.views[i].metric == c.views[best].metric && math.Abs(s.delta) > math.Abs(shifts[best].delta)) {
			best = i
		}
	}
	return best
}

// worthTelling: what is less than in the pinned run, or was renamed since then, is no news where there is a pool. Slopes and what was allocated differ
// all the time: they must differ clearly, and by the thresholds if they cannot fail.
func (c *comparer) worthTelling(r *row, l *lens, v Value, s *shift) bool {
	switch {
	case l.pinned && len(c.pool) > 0 && (s.delta < 0 || s.mostlyMoved()):
		return false
	case l.metric == MetricLevel:
		return true
	case !l.judged:
		return v.Exceeds
	}
	return math.Abs(s.delta) >= realLoss*max(l.known(r), l.scatter(r))
}

// improved says that a row lost as much as it must not gain.
func (c *comparer) improved(r *row, l *lens, s *shift) bool {
	need := r.need(l.need)
	rest := s.left
	return s.delta < 0 && rest >= l.least(r) && 100*rest >= r.limits.Percent*l.before(r) && ratio(rest, l.uncertainty(r, max(need, 1))) >= need
}

// rank puts what regressed first, then orders by the size of the change.
func (c *comparer) rank() {
	order := []Status{Regressed, Suppressed}
	slices.SortStableFunc(c.result.Rows, func(a, b Row) int {
		i, j := slices.Index(order, a.Status), slices.Index(order, b.Status)
		if i < 0 {
			i = len(order)
		}
		if j < 0 {
			j = len(order)
		}
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(math.Abs(b.size), math.Abs(a.size)), cmp.Compare(a.Function, b.Function))
	})
}

// totalRow is the answer for the heap as a whole.
func (c *comparer) totalRow(values []Value) Row {
	out := Row{Status: Unchanged, Values: values, Tier: identity.Unmatched, Thresholds: c.whole.limits, Stacks: len(c.runs[0].Sites)}
	if i := c.worst(values); i >= 0 {
		out.Status = Regressed
		out.Values = append([]Value{values[i]}, slices.Delete(slices.Clone(values), i, i+1)...)
		return out
	}
	if d := values[0].Delta(); math.Abs(d) >= leastNoise*math.Abs(values[0].Before) && d != 0 {
		out.Status = Changed
	}
	return out
}

// conclude answers for the run.
func (c *comparer) conclude() {
	r := c.result
	if c.o.Suppressions != nil {
		r.Expired = c.o.Suppressions.Expired
	}
	regressed, suppressed := 0, 0
	for i := range r.Rows {
		switch r.Rows[i].Status {
		case Regressed:
			regressed++
		case Suppressed:
			suppressed++
		}
	}
	r.Verdict = Fail
	switch {
	case regressed > 0:
		r.Why = fmt.Sprintf("%d of %s regressed", regressed, functions(r.Tested))
	case r.Total.Status == Regressed:
		r.Why = fmt.Sprintf("the heap as a whole regressed, and none of %s did", functions(r.Tested))
	default:
		r.Verdict, r.Why = Pass, fmt.Sprintf("none of %s regressed", functions(r.Tested))
	}
	if suppressed > 0 {
		r.Why += fmt.Sprintf(", but for %d that %s suppressed", suppressed, map[bool]string{true: "is", false: "are"}[suppressed == 1])
	}
}

func functions(n int) string {
	if n == 1 {
		return "1 function"
	}
	return fmt.Sprintf("%d functions", n)
}
