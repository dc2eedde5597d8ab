package gate

import (
	"cmp"
	"math"
	"slices"
)

// When code moves, or is renamed or split, what one function gains another one near it loses. Each loss is handed to gains near
// it, and is used up by that: a gain is judged by what is left of it. So a move is no regression, and a regression cannot hide behind a
// move (FBDetect, SOSP'24, calls it a cost shift: 15 of its 21 false alarms).

const (
	// maxMoves bounds the gains, and the losses, that are looked at: the largest.
	maxMoves = 400
	// realLoss is how many standard deviations a loss must come to: that a neighbour was lower by chance must not take off a gain.
	realLoss = 2
	// newLoss is how much of a loss must lie below what the function ever was in the pool: a neighbour that is large on some nights and small on
	// others is small by chance, too, and its median absolute deviation knows nothing of that. Of normal values from four runs
	// on this asks for as much as realLoss does.
	newLoss = 0.5
)

// shift is what one row gained (positive) or lost, before anything is handed on.
type shift struct {
	row         *row
	delta       float64
	left        float64 // of |delta|, not handed on yet
	lost        bool    // it is a loss, and no chance
	fresh, gone bool    // it is only in the current run, or only in the earlier ones
	with        []*shift
}

// moved is what of a shift was handed on.
func (s *shift) moved() float64 { return math.Abs(s.delta) - s.left }

// moveShare is how much of a change may be left for it to count as moved.
const moveShare = 0.2

func (s *shift) mostlyMoved() bool { return s.moved() > (1-moveShare)*math.Abs(s.delta) }

type move struct {
	gain, loss *shift
	near       int
	mismatch   float64
}

// findMoves hands losses to gains: near ones first, then those of a like size.
func findMoves(shifts []*shift) {
	var gains, losses []*shift
	for _, s := range shifts {
		s.left = math.Abs(s.delta)
		switch {
		case s.row.suppression != nil: // what is known is no one's
		case s.delta > 0:
			gains = append(gains, s)
		case s.lost:
			losses = append(losses, s)
		}
	}
	var moves []move
	for _, g := range largestShifts(gains) {
		for _, l := range largestShifts(losses) {
			if near := nearShifts(g, l); near > 0 {
				moves = append(moves, move{g, l, near, math.Abs(g.delta+l.delta) / max(g.delta, -l.delta)})
			}
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.mismatch, b.mismatch), cmp.Compare(b.gain.delta, a.gain.delta))
	})
	for _, m := range moves {
		m.hand()
	}
}

// lost says that a row has less than before, and not by chance.
func (l *lens) lost(r *row) bool {
	loss := l.before(r) - l.after(r)
	return loss > 0 && loss >= realLoss*l.scatter(r) && l.below(r) >= newLoss*loss
}

// below is how far a row is below its nights in the pool, the lowest of ten or more left out. Against the pinned run it is just the loss: what
// was lost since then is lost in the pool, too.
func (l *lens) below(r *row) float64 {
	values := slices.Sorted(slices.Values(l.values(r, l.pool)))
	switch {
	case l.pinned || len(values) == 0:
		return l.before(r) - l.after(r)
	case len(values) >= leastRobust:
		values = values[1:]
	}
	return values[0] - l.after(r)
}

// hand gives what is left of a loss to what is left of a gain.
func (m move) hand() {
	amount := min(m.gain.left, m.loss.left)
	if amount <= 0 {
		return
	}
	m.gain.left -= amount
	m.loss.left -= amount
	m.gain.with, m.loss.with = append(m.gain.with, m.loss), append(m.loss.with, m.gain)
}

func largestShifts(list []*shift) []*shift {
	slices.SortStableFunc(list, func(a, b *shift) int { return cmp.Compare(math.Abs(b.delta), math.Abs(a.delta)) })
	return list[:min(len(list), maxMoves)]
}

// nearShifts is how close a gain is to a loss. That two functions are of one class or file says enough only if one of them came or went.
func nearShifts(gain, loss *shift) int {
	near := gain.row.relations.near(&loss.row.relations)
	if near < 3 && !gain.fresh && !loss.gone {
		return 0
	}
	return near
}
