package growth

import (
	"slices"

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
	for i := range c.gained {
		column := c.column(symbolize.SiteID(i))
		first, last := c.ends(column)
		c.gained[i] = last - first
		addVisible(c.visible, column)
		if live, changes := c.live(column); changes && trend.Early(live) >= leastRising {
			rises = append(rises, trend.Rise(live))
		}
	}
	c.medianRise = largerMedian(rises)
	return c
}

// column is that of one call path.
func (c *curves) column(id symbolize.SiteID) sites.Column {
	return c.columns.Sum([]symbolize.SiteID{id})
}

// leastRising is the minimum size in bytes of a call path whose rise is a sign of load. Those of a few objects rise by
// chance.
const leastRising = 4 << 10

// largerMedian returns the median, the larger one of two; 0 of no values. Rising load moves many call paths at once, a
// leak one.
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

// live are the visible values of a column within the window, and whether they differ from the first.
func (w *window) live(c sites.Column) (live []float64, changes bool) {
	for i := w.First; i <= w.Last; i++ {
		if c.Bytes[i] != sites.Hidden {
			live = append(live, float64(c.Bytes[i]))
			changes = changes || live[0] != live[len(live)-1]
		}
	}
	return live, changes
}

// points are the visible values of a column, over both clocks.
func (w *window) points(c sites.Column, clock work) trend.Points {
	p := trend.Points{HighWater: w.highWater, EndUnseen: w.gap.still, Period: w.period, OtherImage: w.otherPoints(c)}
	for i := w.First; i <= w.Last; i++ {
		if c.Bytes[i] == sites.Hidden {
			continue
		}
		p.T = append(p.T, w.time(i))
		p.Work = clock.appendTo(p.Work, i-w.First)
		p.Live = append(p.Live, float64(c.Bytes[i]))
		if w.hasObjects {
			p.Objects = append(p.Objects, float64(c.Objects[i]))
		}
		if w.hasAlloc {
			p.Alloc = append(p.Alloc, float64(c.Alloc[i]))
		}
	}
	p.Work = clock.of(p.Work, p.Alloc)
	return p
}

// leastOther is the least number of points in another process image that count as evidence.
const leastOther = 3

// otherPoints are the visible values of a column in the other process image; nil if they are too few.
func (w *window) otherPoints(c sites.Column) *trend.Points {
	if w.other == nil {
		return nil
	}
	p := &trend.Points{}
	for i := w.other.first; i <= w.other.last; i++ {
		if c.Bytes[i] != sites.Hidden {
			p.T = append(p.T, w.time(i))
			p.Live = append(p.Live, float64(c.Bytes[i]))
		}
	}
	if len(p.T) < leastOther {
		return nil
	}
	return p
}

// addVisible adds the visible values of a column to a sum.
func addVisible(sum []int64, c sites.Column) {
	for i, b := range c.Bytes {
		if b != sites.Hidden {
			sum[i] += b
		}
	}
}

// subtractVisible subtracts the visible values of a column from a sum.
func subtractVisible(sum []int64, c sites.Column) {
	for i, b := range c.Bytes {
		if b != sites.Hidden {
			sum[i] -= b
		}
	}
}

// shown returns a site with its values in all snapshots, which only those that are shown need.
func (c *curves) shown(s Site) Site {
	column := c.columns.Sum(s.Members)
	n := len(column.Bytes)
	s.Bytes, s.Objects, s.Visible = make([]int64, n), make([]int64, n), make([]bool, n)
	for i, b := range column.Bytes {
		if b != sites.Hidden {
			s.Bytes[i], s.Objects[i], s.Visible[i] = b, column.Objects[i], true
		}
	}
	return s
}

// allShown returns sites with their values in all snapshots.
func (c *curves) allShown(list []Site) []Site {
	out := slices.Clone(list)
	for i := range out {
		out[i] = c.shown(out[i])
	}
	return out
}

// causesShown returns causes with the values of their sums in all snapshots.
func (c *curves) causesShown(list []Cause) []Cause {
	out := slices.Clone(list)
	for i := range out {
		out[i].Site = c.shown(out[i].Site)
	}
	return out
}
