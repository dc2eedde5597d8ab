package growth

import (
	"iter"
	"slices"
	"sync"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/symbolize"
)

// curves are the values of each call path by snapshot, and what follows from each by itself.
type curves struct {
	window
	columns columns
	// gained is the growth of each call path, by SiteID: its last visible value minus the first.
	gained []int64
	// visible is the number of bytes in use that the snapshots show of all call paths, by snapshot.
	visible []int64
	// medianRise is the median rise of the call paths that change.
	medianRise float64
}

// columns are [sites.Columns]. A column that is returned is not changed.
type columns interface {
	Len() int
	Sum(ids []symbolize.SiteID) sites.Column
}

// curvesOf reads the column of each call path once.
func curvesOf(w window, all columns) curves {
	c := curves{window: w, columns: all, gained: make([]int64, all.Len()), visible: make([]int64, len(w.series.Heads))}
	var rises []float64
	var mu sync.Mutex
	onAllProcessors(all.Len(), func(numbers iter.Seq[int]) {
		var some []float64
		visible := make([]int64, len(c.visible))
		for i := range numbers {
			column := c.column(symbolize.SiteID(i))
			first, last := c.ends(column)
			c.gained[i] = last - first
			addVisible(visible, column, 1)
			if live := c.live(column); changes(live) && trend.Early(live) >= leastRising {
				some = append(some, trend.Rise(live))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		rises = append(rises, some...)
		for i, b := range visible {
			c.visible[i] += b
		}
	})
	c.medianRise = largerMedian(rises)
	return c
}

// column is that of one call path.
func (c *curves) column(id symbolize.SiteID) sites.Column {
	return c.columns.Sum([]symbolize.SiteID{id})
}

// leastRising is the minimum size in bytes of a call path whose rise is a sign of load. Those of a
// few objects rise by chance.
const leastRising = 4 << 10

// changes reports whether some of the values differ from the first.
func changes(v []float64) bool {
	return slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

// largerMedian returns the median, the larger one of two; 0 of no values. Rising load moves many
// call paths at once, a leak one.
func largerMedian(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// growth is that of some call paths together.
func (c *curves) growth(ids []symbolize.SiteID) (bytes int64) {
	for _, id := range ids {
		bytes += c.gained[id]
	}
	return bytes
}

// ends are the first and last visible values of a column within the window.
func (w *window) ends(c sites.Column) (first, last int64) {
	seen := false
	for i := w.First; i <= w.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		if !seen {
			first, seen = c.Bytes[i], true
		}
		last = c.Bytes[i]
	}
	return first, last
}

// live are the visible values of a column within the window.
func (w *window) live(c sites.Column) []float64 {
	bytes := c.Bytes[w.First : w.Last+1]
	return floats(bytes, visibleIn(bytes))
}

// points are the visible values of a column, over both clocks.
func (w *window) points(c sites.Column, clock work) trend.Points {
	p := trend.Points{HighWater: w.highWater, EndUnseen: w.gap.still, Period: w.period, OtherImage: w.otherPoints(c)}
	shown := visibleIn(c.Bytes[w.First : w.Last+1])
	p.T, p.Work = pick(w.series.Clock.At[w.First:w.Last+1], shown), pick(clock.done, shown)
	p.Live = floats(c.Bytes[w.First:w.Last+1], shown)
	if w.hasObjects {
		p.Objects = floats(c.Objects[w.First:w.Last+1], shown)
	}
	if w.hasAlloc {
		p.Alloc = floats(c.Alloc[w.First:w.Last+1], shown)
	}
	if clock.byAllocation {
		p.Work = withoutSelf(p.Work, p.Alloc)
	}
	return p
}

// leastOther is the least number of points in another process image that count as evidence.
const leastOther = 3

// otherPoints are the visible values of a column in the other process image; nil if they are too
// few.
func (w *window) otherPoints(c sites.Column) *trend.Points {
	if w.other == nil {
		return nil
	}
	from, to := w.other.first, w.other.last+1
	shown := visibleIn(c.Bytes[from:to])
	p := trend.Points{T: pick(w.series.Clock.At[from:to], shown), Live: floats(c.Bytes[from:to], shown)}
	if len(p.T) < leastOther {
		return nil
	}
	return &p
}

// visibleIn are the indices of the values that are not hidden; nil if none is.
func visibleIn(bytes []int64) []int {
	if !slices.Contains(bytes, sites.Hidden) {
		return nil
	}
	out := []int{}
	for i, b := range bytes {
		if b != sites.Hidden {
			out = append(out, i)
		}
	}
	return out
}

// pick returns the values with some indices, or the list itself if indices are nil. A nil list stays
// nil.
func pick(list []float64, indices []int) []float64 {
	if list == nil || indices == nil {
		return list
	}
	out := make([]float64, len(indices))
	for k, i := range indices {
		out[k] = list[i]
	}
	return out
}

// floats returns the values with some indices, or all if indices are nil.
func floats(list []int64, indices []int) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return pick(out, indices)
}

// addVisible adds the visible values of a column to a sum, or subtracts them: times −1.
func addVisible(sum []int64, c sites.Column, times int64) {
	for i, b := range c.Bytes {
		if b != sites.Hidden {
			sum[i] += times * b
		}
	}
}

// withValues returns a site with its values in all snapshots, which are those of its column.
func withValues(s Site, column sites.Column) Site {
	n := len(column.Bytes)
	s.Bytes, s.Objects, s.Visible = make([]int64, n), make([]int64, n), make([]bool, n)
	for i, b := range column.Bytes {
		if b != sites.Hidden {
			s.Bytes[i], s.Objects[i], s.Visible[i] = b, column.Objects[i], true
		}
	}
	return s
}
