package trend

import "math"

// Curves that level off, c + a(1 − e^(−t/τ)), as caches do that fill with keys drawn at random: alone, and with a line beside
// them, as where the same function also leaks.

// saturating is the best curve that levels off.
type saturating struct {
	rss       float64 // residual sum of squares
	tau       float64 // its time constant, as a share of the span
	remaining float64 // what is still to come, as a share of what came
}

// beside is the best such curve with a line beside it.
type beside struct {
	rss       float64
	tau       float64
	slope, se float64 // of the line, over the span, with its standard error
}

// Time constants that are tried, as shares of the span: in equal ratios, then ever closer around the best, for what a coarse grid
// misses looks like a line. Beyond the longest a curve is a line, and beyond longestBeside a line beside it cannot be told from it.
const (
	shortestTau   = 0.02
	longestTau    = 3.0
	longestBeside = 1.0
	tauRatio      = 1.25
	tauRounds     = 4
)

// fit finds the line and the curves. Times differ, so that a line can always be fitted.
func (j *judge) fit() {
	c, rss, ok := leastSquares(j.p.Live, j.one, j.t)
	if !ok {
		c, rss = []float64{0, 0}, 0
	}
	j.slope, j.line = c[1], rss
	j.curve = saturating{rss: rss, tau: longestTau, remaining: math.Inf(1)}
	j.beside = beside{rss: math.Inf(1)}
	for tau := shortestTau; tau <= longestTau; tau *= tauRatio {
		j.fitCurve(tau)
	}
	ratio := tauRatio
	for range tauRounds {
		ratio = math.Sqrt(ratio)
		for _, tau := range []float64{j.curve.tau, j.beside.tau} {
			j.fitCurve(tau * ratio)
			j.fitCurve(tau / ratio)
		}
	}
}

// fitCurve tries one time constant.
func (j *judge) fitCurve(tau float64) {
	if tau == 0 {
		return // no curve has fitted yet
	}
	curve := rise(j.t, tau)
	if c, rss, ok := leastSquares(j.p.Live, j.one, curve); ok && c[1] > 0 && rss < j.curve.rss {
		left := math.Exp(-1 / tau)
		j.curve = saturating{rss, tau, left / (1 - left)}
	}
	if tau > longestBeside {
		return
	}
	if c, rss, ok := leastSquares(j.p.Live, j.one, curve, j.t); ok && c[1] >= 0 && rss < j.beside.rss {
		j.beside = beside{rss, tau, c[2], slopeError(j.one, curve, j.t, rss)}
	}
}

func rise(t []float64, tau float64) []float64 {
	out := make([]float64, len(t))
	for i := range t {
		out[i] = 1 - math.Exp(-t[i]/tau)
	}
	return out
}

// besideFeatures say how much better a curve fits with a line beside it than alone.
func (j *judge) besideFeatures(f *Features, growth float64) {
	f.set(FeatureTau, math.Log(j.curve.tau), -4, 2)
	if math.IsInf(j.beside.rss, 1) {
		return
	}
	f.set(FeatureLine, j.beside.slope/growth, -1, 2)
	f.set(FeatureLineT, j.beside.slope/max(j.beside.se, 1e-3*growth), -100, 1000)
	n := len(j.t)
	floor := float64(n)*(j.noise*j.noise+growth*growth*1e-6) + 1
	better := max(0, likelihoodRoot(n, j.beside.rss+floor, j.curve.rss+floor))
	f.set(FeatureBeside, math.Copysign(better, j.beside.slope), -20, 20)
}
