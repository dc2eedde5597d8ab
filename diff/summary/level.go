package summary

import (
	"slices"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
)

// total is the level of the whole heap.
func (s *scope) total() baseline.Level {
	c := sites.Column{}
	for _, h := range s.series.Heads {
		heap := h.Heap()
		c.Bytes, c.Objects = append(c.Bytes, heap.InuseBytes), append(c.Objects, heap.InuseObjects)
	}
	return s.level(c, s.end.Head.Heap())
}

// level sums up a column; end are the counts in the last snapshot.
func (s *scope) level(c sites.Column, end heapfile.Counts) baseline.Level {
	l := baseline.Level{Peak: float64(peak(c.Bytes[s.First : s.Last+1]))}
	var bytes, objects []float64
	for _, i := range s.half {
		b, o := c.Bytes[i], int64(0)
		if b == sites.Hidden {
			b = 0
		} else {
			o = c.Objects[i]
		}
		bytes, objects = append(bytes, float64(b)), append(objects, float64(o))
	}
	l.Bytes, l.Objects = stats.Median(bytes), stats.Median(objects)
	l.Slope, l.SlopeError = s.slope(c)
	if s.end.Head.HasAlloc {
		l.AllocBytes, l.AllocObjects = float64(end.AllocBytes), float64(end.AllocObjects)
	}
	l.Swing = swing(c.Bytes[s.First : s.Last+1])
	l.Noise = sites.SamplingNoise(s.end.Head, int64(l.Bytes))
	return l
}

// slope is the slope of a column's visible values in bytes per hour, with its standard error; 0
// without a clock.
func (s *scope) slope(c sites.Column) (slope, standardError float64) {
	if !s.series.Clock.Source.IsTime() {
		return 0, 0
	}
	var t, y []float64
	for _, i := range s.half {
		if c.Bytes[i] != sites.Hidden {
			t, y = append(t, s.series.Clock.At[i]/3600), append(y, float64(c.Bytes[i]))
		}
	}
	return trend.Slope(t, y)
}

const (
	// swingParts is the number of parts of a run whose medians are taken for a swing: what lasts for a
	// snapshot or two does not move the level.
	swingParts = 8
	// leastReturn is the share of a fall that must come back. What a program frees once, after its
	// start, is not in use in the next run either.
	leastReturn = 0.25
)

// swing is the largest fall of visible values that they rose from again, 0 for none.
func swing(values []int64) (swing float64) {
	var visible []float64
	for _, v := range values {
		if v != sites.Hidden {
			visible = append(visible, float64(v))
		}
	}
	n := min(swingParts, len(visible))
	levels := make([]float64, n)
	for k := range levels {
		levels[k] = stats.Median(visible[k*len(visible)/n : (k+1)*len(visible)/n])
	}
	for k, level := range levels {
		fall := slices.Max(levels[:k+1]) - level
		if slices.Max(levels[k:])-level >= leastReturn*fall {
			swing = max(swing, fall)
		}
	}
	return swing
}

// peak is the largest visible value, 0 if none is.
func peak(values []int64) (most int64) {
	for _, v := range values {
		most = max(most, v) // Hidden is less than all
	}
	return most
}
