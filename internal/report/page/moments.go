package page

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// DefaultMoments is the default number of snapshots on a page.
const DefaultMoments = 240

// chooseMoments returns the indices of the snapshots that are shown, in order: at most limit. If
// there are more snapshots, it prefers the first and last ones of the series and of the judged
// snapshots, the peak, the ends of process images and changes of the trigger; the others are evenly
// spaced in time.
func chooseMoments(s *series.Series, r *growth.Result, limit int) []int {
	n := len(s.Heads)
	if n <= limit {
		return upTo(n)
	}
	chosen := newChoice(n, limit)
	for _, i := range []int{0, n - 1, r.First, r.Last, highest(s.Heads)} {
		chosen.add(i)
	}
	// There may be many turns. They get at most half of the places.
	for _, i := range thin(turns(s), (limit-chosen.count)/2) {
		chosen.add(i)
	}
	for _, i := range evenInTime(s.Clock.At, limit-chosen.count) {
		chosen.add(i)
	}
	for _, i := range thin(chosen.others(), limit-chosen.count) {
		chosen.add(i)
	}
	return chosen.sorted()
}

// choice is a set of at most limit indices.
type choice struct {
	in           []bool
	count, limit int
}

func newChoice(n, limit int) *choice { return &choice{in: make([]bool, n), limit: limit} }

func (c *choice) add(i int) {
	if !c.in[i] && c.count < c.limit {
		c.in[i] = true
		c.count++
	}
}

func (c *choice) sorted() (out []int) { return c.where(true) }
func (c *choice) others() (out []int) { return c.where(false) }

func (c *choice) where(in bool) (out []int) {
	for i, is := range c.in {
		if is == in {
			out = append(out, i)
		}
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// highest is the first of the snapshots with the largest heap.
func highest(heads []*series.Head) int {
	best := 0
	for i, h := range heads {
		if h.Heap().InuseBytes > heads[best].Heap().InuseBytes {
			best = i
		}
	}
	return best
}

// turns are the last snapshot of each process image and the first of the next one, and those whose
// trigger differs from that of the snapshot before.
func turns(s *series.Series) (out []int) {
	for i := 1; i < len(s.Heads); i++ {
		switch {
		case s.Heads[i].Image != s.Heads[i-1].Image:
			out = append(out, i-1, i)
		case i < len(s.Triggers) && s.Triggers[i] != s.Triggers[i-1]:
			out = append(out, i)
		}
	}
	return slices.Compact(out)
}

// thin returns at most n elements of a list, evenly spaced.
func thin(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	var out []int
	for k := range max(n, 0) {
		out = append(out, list[k*len(list)/n])
	}
	return out
}

// evenInTime returns the snapshots nearest to n moments that are evenly spaced in time. The times
// need not rise.
func evenInTime(at []float64, n int) (out []int) {
	order := upTo(len(at))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	first, last := at[order[0]], at[order[len(order)-1]]
	i := 0
	for k := range max(n, 0) {
		want := first + (last-first)*(float64(k)+0.5)/float64(n)
		for i+1 < len(order) && math.Abs(at[order[i+1]]-want) <= math.Abs(at[order[i]]-want) {
			i++
		}
		out = append(out, order[i])
	}
	return out
}
