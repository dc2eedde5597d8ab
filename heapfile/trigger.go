package heapfile

import "slices"

// inferTriggers says why each snapshot was taken: by its name (jemalloc), by
// the sidecar, or, for all of a gperftools series together, by what stays
// constant between neighbours: the growth of the heap's high water, of the
// bytes allocated, or of the time.
func inferTriggers(heads []*Snapshot, clock Clock) []Trigger {
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
	t := inferTrigger(heads, clock.At, clock.Source.IsTime())
	if t == TriggerUnknown && len(heads) > minInferred {
		// The dump of a process that ends breaks the rhythm of those before it.
		last := len(heads) - 1
		if t = inferTrigger(heads[:last], clock.At[:last], clock.Source.IsTime()); t != TriggerUnknown {
			out[last] = TriggerExit
		}
	}
	for i := range out {
		if out[i] == TriggerUnknown {
			out[i] = t
		}
	}
	return out
}

// minInferred is the least number of snapshots for which steps can be called constant.
const minInferred = 5

func inferTrigger(heads []*Snapshot, at []float64, isTime bool) Trigger {
	inuse := steps(heads, func(h *Snapshot) float64 { return float64(h.Total.InuseBytes) })
	alloc := steps(heads, func(h *Snapshot) float64 { return float64(h.Total.AllocBytes) })
	switch {
	case isTime && constant(stepsOf(at), 0.1):
		return TriggerTime
	case constant(inuse, 0.25) && !constant(alloc, 0.02):
		return TriggerHighWater
	case constant(alloc, 0.25):
		return TriggerAllocated
	}
	return TriggerUnknown
}

func steps(heads []*Snapshot, get func(*Snapshot) float64) []float64 {
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

// constant says whether steps are positive and at least four fifths of them lie between
// the smallest ones and that plus a tolerance: an allocator dumps as soon as a
// threshold is passed, so steps overshoot it, and never fall short.
func constant(steps []float64, tolerance float64) bool {
	if len(steps) == 0 {
		return false
	}
	sorted := slices.Sorted(slices.Values(steps))
	low := sorted[len(sorted)/10]
	return sorted[0] > 0 && sorted[0] >= low*(1-tolerance) && sorted[len(sorted)*4/5] <= low*(1+tolerance)
}
