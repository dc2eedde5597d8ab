package gate

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// When code is moved, renamed or split, what one function gains another function nearby loses.
// (FBDetect, SOSP 2024, calls this a cost shift: 15 of its 21 false alarms.) What the other function
// had in the runs before the move then counts for this one in those runs, each byte of it once, and
// medians and noise are computed from that. So a move is no regression, a regression is not hidden
// by a move, and it does not matter how many runs of the set are from before the move.
//
// A function that is small by chance tonight explains no gain. Therefore a move is recognized only
// if it agrees with all runs: each is either from before the move, where the one function has more
// than tonight and the other less, or from after it, where the gain is there already.

const (
	// maxMoves bounds the gains, and the losses, that are paired: the largest.
	maxMoves = 400
	// leastLoss is how many standard deviations a loss must have: a function that is small by
	// chance explains no gain.
	leastLoss = 2
	// leastBelow is the part of a loss that must lie below the lowest value before the move, and the
	// part of a gain that must be there after it. A function that is large on some nights and small
	// on others is small by chance, too, and a robust estimate of its noise does not show that. For
	// normal values and four runs or more, this asks for about as much as leastLoss does.
	leastBelow = 0.5
	// leastNew is the same for a gain of a function that no run before the move has: it is there at
	// all, even if the run ended early.
	leastNew = 0.1
	// mostlyMoved is the part of a change that must have moved for the row to count as moved.
	mostlyMoved = 0.8
)

// move is the other rows that explain a change against the base.
type move struct {
	with  []int     // their indices
	bytes []float64 // what this row got from each of them; negative if it lost that
}

// mostlyMoved reports whether more than the share mostlyMoved of a change moved.
func (c change) mostlyMoved() bool { return math.Abs(c.moved) > mostlyMoved*math.Abs(c.delta()) }

// pair is a gain that a loss may explain, both as indices of rows.
type pair struct {
	gain, loss int
	nearness   nearness
	size       float64 // of the gain
	mismatch   float64 // of their sizes, 0 to 1
}

// mover moves what rows had in earlier runs to the rows that have it now.
type mover struct {
	view      *view
	runs      []int // the earlier runs
	rows      []*row
	changes   []change
	original  [][]float64 // by row and run, before any move
	histories []history
	moves     []move
}

// findMoves adds what moved to the histories of the rows that gained it, and subtracts it from those
// of the rows that lost it: for the nearest rows first, then for those of like size. Suppressed rows
// take no part.
func findMoves(v *view, rows []*row, histories []history, changes []change) []move {
	m := &mover{
		view: v, runs: v.runs(), rows: rows, changes: changes, histories: histories,
		original: make([][]float64, len(rows)), moves: make([]move, len(rows)),
	}
	var gains, losses []int
	for i := range rows {
		m.original[i] = slices.Clone(histories[i].values)
		if rows[i].suppression != nil {
			continue
		}
		if m.listed(i, m.most(i, 1)) {
			gains = append(gains, i)
		}
		if m.listed(i, m.most(i, -1)) {
			losses = append(losses, i)
		}
	}
	gains, losses = m.largest(gains, 1), m.largest(losses, -1)
	pairs := m.pairs(gains, losses)
	for _, p := range pairs {
		m.explain(p.gain, p.nearness, p.loss)
	}
	for _, g := range gains {
		m.explainByGone(g, pairs)
	}
	return m.moves
}

// most is the most that a row has now beyond what it has in one of the earlier runs; with the sign
// -1, the most that it lost.
func (m *mover) most(i int, sign float64) float64 {
	h, out := m.histories[i], 0.0
	for _, run := range m.runs {
		out = max(out, sign*(h.values[0]-h.values[run]))
	}
	return out
}

// listed reports whether a change of a row is large enough to be listed.
func (m *mover) listed(i int, size float64) bool {
	const deviations = 2
	c, weight := &m.changes[i], size
	if m.view.significant() {
		weight = weigh(size, c.floor, m.rows[i].limits.Z)
	}
	return size > 0 && weight >= c.least/10 && size >= deviations*c.known
}

// largest are the rows with the largest gains or losses, those first.
func (m *mover) largest(rows []int, sign float64) []int {
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(m.most(b, sign), m.most(a, sign)) })
	return rows[:min(len(rows), maxMoves)]
}

// pairs are all gains and losses that are near each other, the nearest first.
func (m *mover) pairs(gains, losses []int) (out []pair) {
	places, lost := map[int]place{}, map[int]float64{}
	for _, i := range slices.Concat(gains, losses) {
		places[i], lost[i] = placeOf(m.rows[i]), m.most(i, -1)
	}
	for _, g := range gains {
		gain := m.most(g, 1)
		for _, l := range losses {
			if n := places[g].nearness(places[l]); n > notNear && g != l {
				loss := lost[l]
				out = append(out, pair{g, l, n, gain, math.Abs(gain-loss) / max(gain, loss)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.nearness, a.nearness), cmp.Compare(a.mismatch, b.mismatch),
			cmp.Compare(b.size, a.size))
	})
	return out
}

// explainByGone explains a gain by several functions that are gone, none of which explains it in all
// runs: earlier names of one function.
func (m *mover) explainByGone(gain int, pairs []pair) {
	var gone []int
	nearest := nearByCalls
	for _, p := range pairs {
		if p.gain == gain && m.rows[p.loss].isGone() && m.most(p.loss, -1) > 0 {
			gone, nearest = append(gone, p.loss), min(nearest, p.nearness)
		}
	}
	if len(gone) > 0 {
		m.explain(gain, nearest, gone...)
	}
}

// explain moves to a row what it gained and other rows lost, if that agrees with all runs.
func (m *mover) explain(gain int, near nearness, losses ...int) {
	amounts := m.amounts(gain, losses)
	most := slices.Max(amounts)
	if most <= 0 {
		return
	}
	before := make([]int, 0, len(m.runs)) // the runs before the move
	for _, run := range m.runs {
		if amounts[run] >= leastBelow*most {
			before = append(before, run)
		}
	}
	if m.related(gain, near, losses, before) && m.gained(gain, amounts, before) && m.lost(losses, before) {
		for _, l := range losses {
			m.move(gain, l, amounts, before)
		}
	}
}

// amounts are what the gain and the losses have in common in every run, as far as no other move
// explains it.
func (m *mover) amounts(gain int, losses []int) []float64 {
	out := make([]float64, len(m.histories[gain].values))
	for _, run := range m.runs {
		lost := 0.0
		for _, l := range losses {
			lost += m.missing(l, run)
		}
		out[run] = max(0, min(lost, -m.difference(gain, run)))
	}
	return out
}

// difference is how much more a row has in an earlier run than now; missing is the same, at least 0.
func (m *mover) difference(i, run int) float64 {
	return m.histories[i].values[run] - m.histories[i].values[0]
}

func (m *mover) missing(i, run int) float64 { return max(0, m.difference(i, run)) }

// related reports whether the rows are near enough: a common class or file explains a change only if
// one of them came or went.
func (m *mover) related(gain int, near nearness, losses, before []int) bool {
	gone := !slices.ContainsFunc(losses, func(l int) bool { return !m.rows[l].isGone() })
	return near == nearByCalls || gone || !m.rows[gain].isIn(before)
}

// lost reports whether the rows lost together more than they do by chance.
func (m *mover) lost(losses, before []int) bool {
	sum := make([]float64, len(m.original[0]))
	floor := 0.0
	for _, l := range losses {
		floor += m.changes[l].floor
		for run, x := range m.original[l] {
			sum[run] += x
		}
	}
	earlier, later := pickRuns(sum, before), pickRuns(sum, others(m.runs, before))
	loss := stats.Median(earlier) - sum[0]
	deviation := max(scatter(earlier), scatter(later), floor)
	return loss > 0 && loss >= leastLoss*deviation && lowest(earlier)-sum[0] >= leastBelow*loss
}

// gained reports whether the gain is there in all runs after the move. One of many runs may be an
// outlier.
func (m *mover) gained(gain int, amounts []float64, before []int) bool {
	values := m.histories[gain].values
	start, step := stats.Median(pickRuns(values, before)), stats.Median(pickRuns(amounts, before))
	isNew, outliers := !m.rows[gain].isIn(before), 0
	for _, run := range m.runs {
		if slices.Contains(before, run) {
			continue
		}
		least := leastBelow
		if isNew && m.rows[gain].isIn([]int{run}) {
			least = leastNew
		}
		if values[run]+amounts[run] < start+least*step {
			outliers++
		}
	}
	return outliers == 0 || outliers == 1 && len(m.runs) >= leastRobust
}

// move moves to the gain, in the runs before the move, what a loss has of the amounts. It subtracts
// that from the amounts, and notes what it is against the base.
func (m *mover) move(gain, loss int, amounts []float64, before []int) {
	parts := make([]float64, len(amounts))
	for _, run := range before {
		parts[run] = min(amounts[run], m.missing(loss, run))
		amounts[run] -= parts[run]
		m.histories[loss].give(m.histories[gain], run, parts[run])
	}
	if bytes := m.view.median(parts); bytes > 0 {
		m.moves[gain].add(loss, bytes)
		m.moves[loss].add(gain, -bytes)
	}
}

func (m *move) add(other int, bytes float64) {
	m.with, m.bytes = append(m.with, other), append(m.bytes, bytes)
}

// give moves an amount from one history to another in one run.
func (h history) give(to history, run int, amount float64) {
	share := 1.0
	if h.values[run] > amount {
		share = amount / h.values[run]
	}
	for _, x := range []struct {
		from, to []float64
		amount   float64
	}{
		{h.values, to.values, amount},
		{h.variance, to.variance, share * h.variance[run]},
		{h.span, to.span, share * h.span[run]},
	} {
		x.from[run], x.to[run] = x.from[run]-x.amount, x.to[run]+x.amount
	}
}

// lowest is the lowest value, or the second lowest of ten or more: one may be an outlier.
func lowest(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) >= leastRobust {
		return sorted[1]
	}
	return sorted[0]
}

// others are the runs that are not among some.
func others(runs, some []int) []int {
	return slices.DeleteFunc(slices.Clone(runs), func(run int) bool { return slices.Contains(some, run) })
}

// place is where a function is in the program.
type place struct {
	function string
	callers  map[string]bool // the functions that call it
	class    string          // class or namespace, "" for none
	files    map[string]bool // base names of its source files
}

func placeOf(r *row) place {
	out := place{function: r.function, callers: map[string]bool{}, class: qualifier(r.function), files: map[string]bool{}}
	for _, s := range r.sites {
		if caller := s.Identity.Caller(); caller != "" {
			out.callers[caller] = true
		}
		if s.Blame >= 0 && s.Frames[s.Blame].File != "" {
			out.files[path.Base(s.Frames[s.Blame].File)] = true
		}
	}
	return out
}

// qualifier is the class or namespace of a name, "" for none.
func qualifier(name string) string {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return ""
	}
	return name[:i]
}

// nearness is how near two functions are to each other.
type nearness int

const (
	notNear     nearness = iota
	nearByFile           // both are in one source file
	nearByClass          // both are in one class or namespace
	nearByCalls          // both have one name, one calls the other, or one function calls both
)

func (a place) nearness(b place) nearness {
	switch {
	case a.function == b.function || a.callers[b.function] || b.callers[a.function] || overlap(a.callers, b.callers):
		return nearByCalls
	case a.class != "" && a.class == b.class:
		return nearByClass
	case overlap(a.files, b.files):
		return nearByFile
	}
	return notNear
}

func overlap(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}
