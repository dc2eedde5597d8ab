package series

import (
	"slices"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/filename"
)

// inferTriggers returns the reason why each snapshot was taken: from its name (jemalloc), from the
// manifest or, for all snapshots of gperftools together, from what is constant between neighbours:
// the growth of the heap, of the bytes allocated, or the time.
func inferTriggers(heads []*Head, clock Clock) []filename.Trigger {
	out := make([]filename.Trigger, len(heads))
	unknown := 0
	for i, h := range heads {
		if out[i] = h.File.Trigger; out[i] == filename.TriggerUnknown {
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
	if t != filename.TriggerUnknown && !fits {
		out[len(out)-1] = filename.TriggerExit // the snapshot at the exit of a process does not fit
	}
	return out
}

// minInferred is the smallest number of snapshots from which a trigger is inferred.
const minInferred = 5

// inferTrigger returns the trigger of all snapshots except the last, and reports whether the last
// one fits, too.
func inferTrigger(heads []*Head, clock Clock) (t filename.Trigger, lastFits bool) {
	inuse := steps(heads, func(h *Head) float64 { return float64(h.Total.InuseBytes) })
	alloc := steps(heads, func(h *Head) float64 { return float64(h.Total.AllocBytes) })
	last := len(heads) - 2
	var axis []float64
	switch at := stepsOf(clock.At); {
	case clock.Source.IsTime() && constant(at[:last], 0.1):
		t, axis = filename.TriggerTime, at
	case heads[0].Format != heapfile.FormatHeapProfile:
		return filename.TriggerUnknown, true // HEAPPROFILE, which has the other triggers, did not write it
	case constant(inuse[:last], 0.25) && !constant(alloc[:last], 0.02):
		t, axis = filename.TriggerHighWater, inuse
	case constant(alloc[:last], 0.25):
		t, axis = filename.TriggerAllocated, alloc
	default:
		return filename.TriggerUnknown, true
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

// constant reports whether all steps are positive and at least four fifths of them are within a
// tolerance of their median. (The first step is often short, because the profiler starts within an
// interval.)
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

// AtExit reports whether the last of the snapshots from first to last, of one process image, was
// taken after the program had freed its memory to exit: its heap is less than half of the one
// before, and clearly smaller than any in the later half. (A heap that is emptied from time to time
// returns to an earlier size.)
func (s *Series) AtExit(first, last int) bool {
	return Freed(last-first+1, func(i int) int64 { return s.Heads[first+i].Heap().InuseBytes })
}

// Freed reports whether the last of n sizes of a heap is that of a program which had freed its
// memory to exit.
func Freed(n int, inuse func(i int) int64) bool {
	last := n - 1
	if last < minInferred {
		return false
	}
	least := inuse(last - 1)
	for i := last / 2; i < last; i++ {
		least = min(least, inuse(i))
	}
	return 2*inuse(last) < inuse(last-1) && 5*inuse(last) < 4*least
}
