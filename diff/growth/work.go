package growth

// work is the second clock: the work that the process had done by each judged snapshot.
type work struct {
	done []float64 // nil if unknown
	// byAllocation reports whether done is the number of bytes that all sites had allocated.
	byAllocation bool
}

// workOf takes the work that the sites show together, if they do: a process that works without
// allocating shows it by its processor time only. Without either, the allocated bytes are the work.
func workOf(w *window, c *cohort) work {
	switch {
	case c.work != nil && c.work[len(c.work)-1] > 0:
		return work{done: c.work}
	case w.processor != nil:
		return work{done: w.processor}
	case w.hasAlloc:
		return work{allocated(w), true}
	}
	return work{}
}

// allocated returns the number of bytes that the process had allocated by each judged snapshot.
func allocated(w *window) (bytes []float64) {
	for _, h := range w.heads() {
		bytes = append(bytes, float64(h.Heap().AllocBytes))
	}
	return bytes
}

// appendTo appends the work by the i-th judged snapshot to a list; nil if the work is not known.
func (w *work) appendTo(list []float64, i int) []float64 {
	if w.done == nil {
		return nil
	}
	return append(list, w.done[i])
}

// leastOthers is the least share of the allocated bytes by which the other sites show the work of
// the process.
const leastOthers = 0.1

// withoutSelf returns what the process allocated without a site: what the site itself allocates is
// its load, too, and a site whose load rises would look linear against its own allocations. It
// returns nil if that is next to nothing, and the allocations of all if those of the site are not
// known.
func withoutSelf(all, own []float64) []float64 {
	if len(all) == 0 || own == nil {
		return all
	}
	out := make([]float64, len(all))
	for i := range out {
		out[i] = all[i] - own[i]
	}
	last := len(all) - 1
	if out[last]-out[0] < leastOthers*(all[last]-all[0]) {
		return nil
	}
	return out
}
