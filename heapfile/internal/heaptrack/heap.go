package heaptrack

import (
	"math"
	"time"

	"github.com/heaplapse/heaplapse/heapfile"
)

// heap is the state of the heap while a recording is replayed.
type heap struct {
	counts    []heapfile.Counts // by stack
	allocated int64             // bytes
	// touched are the stacks whose counts differ from those of the last checkpoint.
	touched []uint32
	marked  []bool          // by stack: it is in touched
	live    map[uint64]kind // by pointer, where frees have pointers
}

func newHeap() heap { return heap{live: map[uint64]kind{}} }

// at returns the counts of a stack, which change now.
func (h *heap) at(stack uint32) *heapfile.Counts {
	if n := int(stack) + 1 - len(h.counts); n > 0 {
		h.counts = append(h.counts, make([]heapfile.Counts, n)...)
		h.marked = append(h.marked, make([]bool, n)...)
	}
	if !h.marked[stack] {
		h.marked[stack] = true
		h.touched = append(h.touched, stack)
	}
	return &h.counts[stack]
}

// allocate reports whether the sum of all allocations is still a number of 63 bits.
func (h *heap) allocate(k kind) bool {
	if h.allocated > math.MaxInt64-k.size {
		return false
	}
	h.allocated += k.size
	c := h.at(k.stack)
	c.InuseObjects++
	c.InuseBytes += k.size
	c.AllocObjects++
	c.AllocBytes += k.size
	return true
}

// free reports whether such an allocation was in use.
func (h *heap) free(k kind) bool {
	c := h.at(k.stack)
	if c.InuseObjects == 0 || c.InuseBytes < k.size {
		return false
	}
	c.InuseObjects--
	c.InuseBytes -= k.size
	return true
}

// checkpoint is what changed in the heap since the one before.
type checkpoint struct {
	at      time.Duration
	rss     *int64
	changes []change
}

type change struct {
	stack  uint32
	counts heapfile.Counts // all of the stack, not the difference
}

// checkpoint returns the changes since the last one.
func (h *heap) checkpoint(at time.Duration) checkpoint {
	c := checkpoint{at: at, changes: make([]change, len(h.touched))}
	for i, stack := range h.touched {
		c.changes[i] = change{stack, h.counts[stack]}
		h.marked[stack] = false
	}
	h.touched = h.touched[:0]
	return c
}

// timeline holds checkpoints at most once in an interval. When there are twice as many as asked
// for, the interval is doubled and some are dropped, so that the recording is read once and memory
// is bounded.
type timeline struct {
	want        int
	interval    time.Duration
	checkpoints []checkpoint
	pending     []change // since the last of them, if checkpoints after it were dropped
}

// due reports whether a checkpoint at a time is the first one in an interval.
func (t *timeline) due(at time.Duration) bool {
	n := len(t.checkpoints)
	return n == 0 || at/t.interval > t.checkpoints[n-1].at/t.interval
}

// add appends a checkpoint.
func (t *timeline) add(c checkpoint) {
	c.changes = merge(t.pending, c.changes)
	t.checkpoints, t.pending = append(t.checkpoints, c), nil
}

// limit halves the number of checkpoints if there are too many.
func (t *timeline) limit() {
	for len(t.checkpoints) >= 2*t.want {
		t.interval *= 2
		before := time.Duration(-1)
		t.keep(func(i int) bool {
			interval := t.checkpoints[i].at / t.interval
			first := interval > before
			before = interval
			return first
		})
	}
}

// keep drops checkpoints. Their changes become those of the next one that is kept, or of the next
// checkpoint to come.
func (t *timeline) keep(keep func(i int) bool) {
	var out []checkpoint
	var dropped []change
	for i, c := range t.checkpoints {
		c.changes = merge(dropped, c.changes)
		dropped = nil
		if keep(i) {
			out = append(out, c)
		} else {
			dropped = c.changes
		}
	}
	t.checkpoints, t.pending = out, dropped
}

// merge returns earlier changes and later ones, which replace earlier ones of the same stack.
func merge(earlier, later []change) []change {
	if len(earlier) == 0 {
		return later
	}
	replaced := make(map[uint32]bool, len(later))
	for _, c := range later {
		replaced[c.stack] = true
	}
	for _, c := range earlier {
		if !replaced[c.stack] {
			later = append(later, c)
		}
	}
	return later
}

// thin leaves as many checkpoints as asked for: those nearest to even distances, and the last one.
func (t *timeline) thin() {
	n := len(t.checkpoints)
	if n <= t.want {
		return
	}
	chosen := map[int]bool{}
	for i := range t.want {
		chosen[(i+1)*n/t.want-1] = true
	}
	t.keep(func(i int) bool { return chosen[i] })
}
