package series

import "slices"

// inferTriggers says why each snapshot was taken: by its name (jemalloc), by
// the sidecar, or, for all of a gperftools series together, by what stays
// constant between neighbours: the growth of the heap's high water, of the
// bytes allocated, or of the time.
func inferTriggers(heads []*Head, clock Clock) []Trigger {
	out := make([]Trigger, len(heads))
	unknown := 0
	for i, h := range heads {
		if out[i] = h.File.Trigger; out[i] == TriggerUnknown {
			unknown++
		}
	}
	if unknown < len(heads) || len(heads) < minInferred {
		return out
	}
	t, fits := inferTrigger(heads, clock)
	for i := range out {
		out[i] = t
	}
	if t != TriggerUnknown && !fits {
		out[len(out)-1] = TriggerExit // the dump of a process that ends breaks the rhythm
	}
	return out
}

// minInferred is the least number of snapshots for which steps can be called constant.
const minInferred = 5

// inferTrigger looks at all snapshots but the last, and says whether the last one fits as well.
func inferTrigger(heads []*Head, clock Clock) (t Trigger, lastFits bool) {
	inuse := steps(heads, func(h *Head) float64 { return float64(h.Total.InuseBytes) })
	alloc := steps(heads, func(h *Head) float64 { return float64(h.Total.AllocBytes) })
	last := len(heads) - 2
	var axis []float64
	switch at := stepsOf(clock.At); {
	case clock.Source.IsTime() && constant(at[:last], 0.1):
		t, axis = TriggerTime, at
	case constant(inuse[:last], 0.25) && !constant(alloc[:last], 0.02):
		t, axis = TriggerHighWater, inuse
	case constant(alloc[:last], 0.25):
		t, axis = TriggerAllocated, alloc
	default:
		return TriggerUnknown, true
	}
	return t, axis[last] >= 0.9*middle(axis[:last])
}

func steps(heads []*Head, get func(*Head) float64) []float64 {
	v := make([]float64, len(heads))
	for i, h := range heads {
		v[i] = get(h)
	}
	return stepsOf(v)
}

func stepsOf(v []float64) []float64 {
	var out []float64
	for i := 1; i < len(v); i++ {
		out = append(out, v[i]-v[i-1])
	}
	return out
}

// constant says whether steps are positive and at least four fifths of them lie within a
// tolerance of their median. (The first step is often short: the profiler starts within an interval.)
func constant(steps []float64, tolerance float64) bool {
	if len(steps) == 0 || slices.Min(steps) <= 0 {
		return false
	}
	median := middle(steps)
	near := 0
	for _, s := range steps {
		if s >= median*(1-tolerance) && s <= median*(1+tolerance) {
			near++
		}
	}
	return 5*near >= 4*len(steps)
}

func middle(steps []float64) float64 { return slices.Sorted(slices.Values(steps))[len(steps)/2] }

// AtExit says whether the last of the snapshots from first to last of one process image was taken when the program had freed its
// memory to exit: it holds less than half of the one before, and clearly less than any of the later half. (A heap that is emptied from
// time to time comes down to where it was before.)
func (s *Series) AtExit(first, last int) bool {
	if last-first < minInferred {
		return false
	}
	inuse := func(i int) int64 { return s.Heads[i].Heap().InuseBytes }
	least := inuse(last - 1)
	for i := first + (last-first)/2; i < last; i++ {
		least = min(least, inuse(i))
	}
	return 2*inuse(last) < inuse(last-1) && 5*inuse(last) < 4*least
}

// LastAlive is the last snapshot, but for one of a program that had freed its memory to exit: then it is the one before.
func (s *Series) LastAlive() int {
	var first, last int
	for begin, end := range s.Images(0, len(s.Heads)) {
		first, last = begin, end
	}
	if s.AtExit(first, last) {
		return last - 1
	}
	return last
}
