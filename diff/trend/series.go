package trend

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// series is a prepared time series. It is not changed after [prepare].
type series struct {
	Points              // at most maxWindows of them
	t         []float64 // time from 0 to 1: a slope is the growth over the span
	work      []float64 // the same for the work of the process; nil if unknown
	one       []float64 // the constant column of fits
	span      float64   // from the first to the last point, in the units of T
	minGrowth float64
	leakAt    float64
	all       Points // before they became windows
	// noise is the standard deviation of Live due to sampling.
	noise       float64
	sample      float64 // the bytes that one sampled object stands for; 0 for exact counts
	sampleError float64 // [Verdict.SampleError]
}

// prepare returns false for a series of too few points, or one with values that are no numbers.
func prepare(p Points, o Options) (s series, ok bool) {
	o.MinGrowth, o.LeakConfidence = cmp.Or(o.MinGrowth, DefaultMinGrowth), cmp.Or(o.LeakConfidence, LeakConfidence)
	p = p.distinct()
	undefined := func(y float64) bool { return math.IsNaN(y) || math.IsInf(y, 0) }
	if len(p.T) < verdict.MinPoints || slices.ContainsFunc(p.Live, undefined) {
		return s, false
	}
	s = series{
		Points: p.windowed(maxWindows), span: p.T[len(p.T)-1] - p.T[0],
		minGrowth: o.MinGrowth, leakAt: o.LeakConfidence, all: p, noise: p.noise(), sample: p.sample(),
		sampleError: p.sampleError(),
	}
	s.t, s.one = normalised(s.T), stats.Ones(len(s.T))
	s.work = workAxis(s.t, s.Work)
	return s, true
}

// distinct keeps the last of the points at one time: what happened between them took no time.
func (p Points) distinct() Points {
	last := func(i int) bool { return i+1 == len(p.T) || p.T[i+1] > p.T[i] }
	same := 0
	for same < len(p.T) && last(same) {
		same++
	}
	if same == len(p.T) {
		return p
	}
	pick := func(v []float64) (out []float64) {
		for i := range v {
			if last(i) {
				out = append(out, v[i])
			}
		}
		return out
	}
	out := p
	out.T, out.Work = pick(p.T), pick(p.Work)
	out.Live, out.Objects, out.Alloc = pick(p.Live), pick(p.Objects), pick(p.Alloc)
	return out
}

// maxWindows bounds the points of the statistics, whose cost is quadratic.
const maxWindows = 64

// windowed replaces a series of more than n points by the medians of n windows of equal numbers of
// points.
func (p Points) windowed(n int) Points {
	if len(p.T) <= n {
		return p
	}
	scratch := make([]float64, len(p.T)/n+1)
	medians := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		out := make([]float64, n)
		for w := range out {
			out[w] = stats.MedianBy(scratch, v[w*len(v)/n:(w+1)*len(v)/n])
		}
		return out
	}
	out := p
	out.T, out.Work = medians(p.T), medians(p.Work)
	out.Live, out.Objects, out.Alloc = medians(p.Live), medians(p.Objects), medians(p.Alloc)
	return out
}

// normalised maps rising values to 0 to 1.
func normalised(t []float64) []float64 {
	out := make([]float64, len(t))
	for i := range t {
		out[i] = (t[i] - t[0]) / (t[len(t)-1] - t[0])
	}
	return out
}

// tailFrom is the index at which the last two fifths begin, four points at least.
func tailFrom(n int) int { return n - max(4, (2*n+2)/5) }

// thirds are the medians of the first and of the last third.
func thirds(y []float64) (early, late float64) {
	third := len(y) / 3
	return stats.Median(y[:third+1]), stats.Median(y[len(y)-third-1:])
}

// slopeOf is the robust slope of a part of a series.
func slopeOf(t, y []float64) float64 { return stats.TheilSen(t, y).Slope }
