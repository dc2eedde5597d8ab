package trend

import (
	"math"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// curves are least-squares fits of curves over time. A cache that is filled with keys drawn at
// random follows c + a·(1 − e^(−t/τ)); a function that also leaks follows such a curve with a line
// beside it.
type curves struct {
	line    stats.Fit  // constant and slope over the span
	level   saturating // the best curve that levels off
	beside  beside     // the best such curve with a line beside it
	plateau plateau    // the best line that becomes level
}

type saturating struct {
	rss       float64 // residual sum of squares
	tau       float64 // its time constant, as a share of the span
	remaining float64 // the growth that is still to come, as a share of the growth so far
}

type beside struct {
	rss       float64 // infinite if no curve fits
	tau       float64
	slope, se float64 // of the line over the span, with its standard error
}

type plateau struct {
	rss  float64
	from float64 // when the line becomes level, from 0 to 1
}

// Time constants that are tried, as shares of the span: in equal ratios, then ever closer around
// the best, because what a coarse grid misses looks like a line. Beyond longestTau a curve is a
// line, and beyond longestBeside a curve and a line beside it are nearly the same column.
const (
	shortestTau   = 0.02
	longestTau    = 3.0
	longestBeside = 1.0
	tauRatio      = 1.25
	tauRounds     = 4
	rounding      = 1e-9 // of the growth along the line
)

func (s *series) curves() curves {
	line, _ := stats.LeastSquares(s.Live, s.one, s.t) // times differ, so that a line can always be fitted
	c := curves{
		line:   line,
		level:  saturating{rss: line.RSS, tau: longestTau, remaining: math.Inf(1)},
		beside: beside{rss: math.Inf(1)},
	}
	for tau := shortestTau; tau <= longestTau; tau *= tauRatio {
		c.try(s, tau)
	}
	ratio := tauRatio
	for range tauRounds {
		ratio = math.Sqrt(ratio)
		for _, tau := range []float64{c.level.tau, c.beside.tau} {
			if tau > 0 { // 0 if no curve has fitted yet
				c.try(s, tau*ratio)
				c.try(s, tau/ratio)
			}
		}
	}
	c.plateau = s.plateau(line.RSS)
	return c
}

// try fits the curves of one time constant, and keeps those that are better than the best so far.
func (c *curves) try(s *series, tau float64) {
	curve := make([]float64, len(s.t))
	for i, x := range s.t {
		curve[i] = 1 - math.Exp(-x/tau)
	}
	if fit, ok := stats.LeastSquares(s.Live, s.one, curve); ok && fit.C[1] > 0 && fit.RSS < c.level.rss {
		left := math.Exp(-1 / tau)
		c.level = saturating{fit.RSS, tau, left / (1 - left)}
	}
	if tau > longestBeside {
		return
	}
	least := -rounding * math.Abs(c.line.C[1]) // a series that a line fits exactly has curves of ±0 beside it
	if fit, ok := stats.LeastSquares(s.Live, s.one, curve, s.t); ok && fit.C[1] >= least && fit.RSS < c.beside.rss {
		c.beside = beside{fit.RSS, tau, fit.C[2], fit.LastError(len(s.t) - 3)}
	}
}

// plateau fits lines that become level; rss is the sum to beat.
func (s *series) plateau(rss float64) plateau {
	best := plateau{rss, 1}
	hinge := make([]float64, len(s.t))
	for _, knee := range knees(s.t, 2, 1) {
		for i, x := range s.t {
			hinge[i] = math.Min(x, knee)
		}
		if fit, ok := stats.LeastSquares(s.Live, s.one, hinge); ok && fit.C[1] > 0 && fit.RSS < best.rss {
			best = plateau{fit.RSS, knee}
		}
	}
	return best
}

// overLine is ln of residuals over those of the line. Both are raised a little, so that a perfect
// fit is not −∞.
func (c *curves) overLine(rss float64) float64 {
	floor := c.line.RSS*1e-4 + 1
	return math.Log((rss + floor) / (c.line.RSS + floor))
}

// curveFeatures compare curves that level off with a line that does not.
func (s *series) curveFeatures(f *Features, c curves, growth float64) {
	f.set(FeatureSaturation, c.overLine(c.level.rss), -10, 0)
	f.set(FeaturePlateau, c.overLine(c.plateau.rss), -10, 0)
	f.set(FeaturePlateauLength, 1-c.plateau.from, 0, 1)
	half := len(s.t) / 2
	first, second := slopeOf(s.t[:half+1], s.Live[:half+1]), slopeOf(s.t[half:], s.Live[half:])
	f.set(FeatureBend, (second-first)/max(math.Abs(c.line.C[1]), 1), -3, 3)
	f.set(FeatureTau, math.Log(c.level.tau), -4, 2)
	if math.IsInf(c.beside.rss, 1) {
		return
	}
	f.set(FeatureLine, c.beside.slope/growth, -1, 2)
	f.set(FeatureLineT, c.beside.slope/max(c.beside.se, 1e-3*growth), -100, 1000)
	n := len(s.t)
	floor := s.residualFloor(growth)
	better := max(0, stats.LikelihoodRoot(n, c.beside.rss+floor, c.level.rss+floor))
	f.set(FeatureBeside, math.Copysign(better, c.beside.slope), -20, 20)
}

// residualFloor is the residual sum of squares below which fits are equally good: that of sampling,
// and a share of the growth.
func (s *series) residualFloor(growth float64) float64 {
	return float64(len(s.t))*(s.noise*s.noise+growth*growth*1e-6) + 1
}
