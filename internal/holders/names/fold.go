package names

import "slices"

// Fold leaves out what is repeated in a chain, such as the nodes of a list, and the objects between them: the first and
// the last repetition stay. It also does so over a gap of blocks that were left out.
func Fold(steps []Step) []Step {
	folded, joined := foldRuns(steps)
	gap := slices.IndexFunc(steps, func(s Step) bool { return s.Skipped > 0 })
	// The gap may end anywhere in a repetition. It is made larger until the repetitions go on behind it.
	for more := 1; gap >= 0 && !joined && more < maxPeriod && gap+more < len(steps); more++ {
		other := slices.Delete(slices.Clone(steps), gap, gap+more)
		other[gap].Skipped = steps[gap].Skipped + more
		if list, ok := foldRuns(other); ok {
			return list
		}
	}
	return folded
}

// maxPeriod limits the steps of a repetition.
const maxPeriod = 4

// foldRuns folds steps. joined reports whether the same repetitions are before and behind the gap.
func foldRuns(steps []Step) (out []Step, joined bool) {
	for len(steps) > 0 {
		n, period := run(steps)
		if steps[0].Skipped > 0 && len(out) > 0 {
			out[len(out)-1].Links += steps[0].Skipped
		}
		joined = joined || slices.ContainsFunc(steps[1:n], func(s Step) bool { return s.Skipped > 0 })
		out = append(out, foldRun(steps[:n], period)...)
		steps = steps[n:]
	}
	for i := range out {
		out[i].Skipped = 0
	}
	return out, joined
}

// foldRun leaves out all but the first and the last of some repetitions. The last one may not be whole.
func foldRun(steps []Step, period int) []Step {
	last := (len(steps) - 1) / period * period
	left := last/period - 1
	for _, s := range steps[1:] {
		left += (s.Skipped + period - 1) / period
	}
	if last == 0 || left == 0 {
		return steps
	}
	first, end := slices.Clone(steps[:period]), steps[last:]
	isTyped := func(s Step) bool { return s.Type != "" }
	if i := slices.IndexFunc(first, isTyped); i >= 0 {
		for !isTyped(first[len(first)-1]) {
			first = first[:len(first)-1]
		}
		end = end[min(i, len(end)):]
	}
	first[len(first)-1].Links += left
	return append(first, end...)
}

// run returns the number of steps at the beginning that are repetitions of the first ones, and how many these are. A
// single step must be there twice, and several ones twice with a third one that begins.
func run(steps []Step) (n, period int) {
	n, period = 1, 1
	for p := 1; p <= min(maxPeriod, len(steps)); p++ {
		end := p
		for end < len(steps) && isSame(steps[end-p], steps[end], p) {
			end++
		}
		if end > n && (p == 1 || end > 2*p) {
			n, period = end, p
		}
	}
	return n, period
}

// isSame reports whether a step repeats the one that is a period before. Objects of unknown types must have the same
// size. The members that lead from one object to the next may be different ones, as those of a tree.
func isSame(a, b Step, period int) bool {
	if period > 1 && a.Via != b.Via {
		return false
	}
	return a.Type == b.Type && (a.Type != "" || a.Block.Size() == b.Block.Size())
}
