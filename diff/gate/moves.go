package gate

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
)

// When code is moved, renamed or split, what one function gains another function nearby loses. Each
// loss is subtracted from gains nearby, each byte of it once, and only the rest of a gain is
// judged. So a move is no regression, and a regression is not hidden by a move. (FBDetect, SOSP
// 2024, calls this a cost shift: 15 of its 21 false alarms.)

const (
	// maxMoves bounds the gains, and the losses, that are paired: the largest.
	maxMoves = 400
	// leastLoss is how many standard deviations a loss must have: a function that is small by
	// chance explains no gain.
	leastLoss = 2
	// leastBelow is the part of a loss that must lie below the lowest value in the set. A function
	// that is large on some nights and small on others is small by chance, too, and a robust
	// estimate of its noise does not show that. For normal values and four runs or more, this asks
	// for about as much as leastLoss does.
	leastBelow = 0.5
	// mostlyMoved is the part of a change that must have moved for the row to count as moved.
	mostlyMoved = 0.8
)

// move is the part of a row's change that other rows explain.
type move struct {
	rest float64 // the unexplained part of |delta|
	with []int   // indices of the rows that explain it
}

// moved is the part of a change that m explains, with the sign of the change.
func (m move) moved(c change) float64 {
	if len(m.with) == 0 {
		return 0
	}
	return math.Copysign(math.Abs(c.delta())-m.rest, c.delta())
}

// mostly reports whether more than the share mostlyMoved of a change moved.
func (m move) mostly(c change) bool { return math.Abs(m.moved(c)) > mostlyMoved*math.Abs(c.delta()) }

// pair is a gain that a loss may explain, both as indices of rows.
type pair struct {
	gain, loss int
	nearness   nearness
	mismatch   float64 // of their sizes, 0 to 1
}

// findMoves subtracts losses from gains nearby: the nearest first, then those of like size.
// Suppressed rows take no part.
func findMoves(rows []*row, changes []change) []move {
	out := make([]move, len(changes))
	var gains, losses []int
	for i, c := range changes {
		out[i].rest = math.Abs(c.delta())
		switch {
		case !c.listed() || rows[i].suppression != nil:
		case c.delta() > 0:
			gains = append(gains, i)
		case c.isLoss():
			losses = append(losses, i)
		}
	}
	for _, p := range pairs(rows, changes, largest(gains, changes), largest(losses, changes)) {
		gain, loss := &out[p.gain], &out[p.loss]
		amount := min(gain.rest, loss.rest)
		if amount <= 0 {
			continue
		}
		gain.rest, loss.rest = gain.rest-amount, loss.rest-amount
		gain.with, loss.with = append(gain.with, p.loss), append(loss.with, p.gain)
	}
	return out
}

// isLoss reports whether the row lost more than it does by chance.
func (c change) isLoss() bool {
	loss := -c.delta()
	return loss > 0 && loss >= leastLoss*c.scatter && c.lowest-c.after >= leastBelow*loss
}

// largest are the rows with the largest changes, those first.
func largest(rows []int, changes []change) []int {
	slices.SortStableFunc(rows, func(a, b int) int {
		return cmp.Compare(math.Abs(changes[b].delta()), math.Abs(changes[a].delta()))
	})
	return rows[:min(len(rows), maxMoves)]
}

// pairs are all gains and losses that are near each other, the nearest first.
func pairs(rows []*row, changes []change, gains, losses []int) (out []pair) {
	places := map[int]place{}
	for _, i := range slices.Concat(gains, losses) {
		places[i] = placeOf(rows[i])
	}
	for _, g := range gains {
		for _, l := range losses {
			n := places[g].nearness(places[l])
			if n < nearByCalls && !rows[g].isNew() && !rows[l].isGone() {
				continue // a common class or file explains a change only if one of the two came or went
			}
			if n > notNear {
				gain, loss := changes[g].delta(), -changes[l].delta()
				out = append(out, pair{g, l, n, math.Abs(gain-loss) / max(gain, loss)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.nearness, a.nearness), cmp.Compare(a.mismatch, b.mismatch),
			cmp.Compare(changes[b.gain].delta(), changes[a.gain].delta()))
	})
	return out
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
