package trend

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// waves are the periods that are tried, as shares of the span.
var waves = []float64{0.1, 0.14, 0.2, 0.27, 0.36, 0.48, 0.6, 0.75, 0.9, 1.1, 1.4}

// cycleFeatures describe the trend beside a wave, such as a day's load.
func (s *series) cycleFeatures(f *Features, c curves, growth float64) {
	y, n := s.Live, len(s.t)
	third := n / 3
	f.set(FeatureFloor, (slices.Min(y[n-third:])-slices.Min(y[:third]))/growth, -2, 2)
	f.set(FeatureCeiling, (slices.Max(y[n-third:])-slices.Max(y[:third]))/growth, -2, 2)
	best := c.line.RSS
	// The line by itself, for a series that a line fits exactly: beside it no wave is better.
	f.set(FeatureCycleLine, c.line.C[1]/growth, -2, 3)
	f.set(FeatureCycleLineT, c.line.C[1]/max(c.line.LastError(n-2), 1e-3*growth), -100, 1000)
	sin, cos := make([]float64, n), make([]float64, n)
	for _, period := range waves {
		if period*float64(n) < 4 {
			continue // with fewer than four points a period any zigzag fits
		}
		for i, x := range s.t {
			sin[i], cos[i] = math.Sincos(2 * math.Pi * x / period)
		}
		if fit, ok := stats.LeastSquares(y, s.one, sin, cos, s.t); ok && fit.RSS < best {
			best = fit.RSS
			f.set(FeatureCycleLine, fit.C[3]/growth, -2, 3)
			f.set(FeatureCycleLineT, fit.C[3]/max(fit.LastError(n-4), 1e-3*growth), -100, 1000)
		}
	}
	f.set(FeatureCycle, c.overLine(best), -10, 0)
}
