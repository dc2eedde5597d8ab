package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// maxKnees bounds the places where a knee is tried.
const maxKnees = 24

// knees are places for a knee, from some number of points after the first to some number before the
// last.
func knees(t []float64, after, before int) (out []float64) {
	inner := t[after : len(t)-before]
	n := min(maxKnees, len(inner))
	for i := range n {
		out = append(out, inner[i*len(inner)/n])
	}
	return out
}

// kneeFeatures describe the best two lines that meet.
func (s *series) kneeFeatures(f *Features, growth float64) {
	k := twoLines(s.t, s.Live, s.one)
	f.set(FeatureKnee, k.at, 0, 1)
	f.set(FeatureAfterKnee, k.slope/growth, -2, 5)
	f.set(FeatureAfterKneeT, k.slope/max(k.se, 1e-3*growth), -100, 1000)
}

// allocKneeFeatures describe the best two lines that meet over allocated bytes. If those are not
// known, they are the lines over time.
func (s *series) allocKneeFeatures(f *Features, growth float64) {
	alloc := s.Alloc
	if alloc == nil || !(alloc[len(alloc)-1] > alloc[0]) {
		f[FeatureKneeByAlloc], f[FeatureKneeByAllocT] = f[FeatureAfterKnee], f[FeatureAfterKneeT]
		return
	}
	k := twoLines(normalised(alloc), s.Live, s.one)
	f.set(FeatureKneeByAlloc, k.slope/growth, -2, 5)
	f.set(FeatureKneeByAllocT, k.slope/max(k.se, 1e-3*growth), -100, 1000)
}

// knee is two lines that meet.
type knee struct {
	at        float64 // where they meet
	slope, se float64 // of the second line, with its standard error
}

// twoLines fits two lines that meet; zero if none fit.
func twoLines(t, y, one []float64) (best knee) {
	rss := math.Inf(1)
	before, after := make([]float64, len(t)), make([]float64, len(t))
	for _, at := range knees(t, 1, 2) {
		for i, x := range t {
			before[i], after[i] = math.Min(x, at), math.Max(0, x-at)
		}
		if fit, ok := stats.LeastSquares(y, one, before, after); ok && fit.RSS < rss {
			rss, best = fit.RSS, knee{at, fit.C[2], fit.LastError(len(t) - 3)}
		}
	}
	return best
}
