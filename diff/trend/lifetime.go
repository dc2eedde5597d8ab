package trend

import (
	"math"
	"slices"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
)

// Models of how the bytes in use follow from the bytes allocated. Each byte lives for some time.
// The bytes in use at a time are those that were allocated before and are still alive:
//
//	L(t) = c + κ·∫ S(t−s) dA(s) + ρ·(A(t) − A(0))
//
// A is the curve of allocated bytes, S(u) the share of bytes that live longer than u, and ρ the
// share that is never freed. With exponential lifetimes (S = e^(−u/τ)) a process that warms up, a
// load that rises or falls and Little's law are all one model. With a fixed lifetime (S = 1 until
// T, then 0) a cache that fills and then evicts its oldest entries is one, too. Only ρ > 0 is a
// leak, under any load. Without cumulative counts the rate of allocation is taken to be constant.

// lifetimes are the τ and T that are tried, as shares of the span. The longest ones end within the
// series: beyond it, a long life looks like a leak.
var lifetimes = []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

const (
	// longestExponential bounds τ: e^(−1/0.6) of the bytes allocated at the start are still in use
	// at the end.
	longestExponential = 0.6
	// maxShare bounds κ and ρ, which are shares of the allocated bytes, with room for noise.
	maxShare = 1.2
	// maxDebt bounds how far c may fall below zero by noise, as a share of the largest value. c is
	// bytes that were there before and stay. Without a bound, a sum of much that dies and much that
	// leaks fits any curve.
	maxDebt = 0.1
	// clearly is the least gain, as a share of the variation, for which a model with a leak is
	// preferred to a simpler one.
	clearly = 1e-3
	// lifeRefined is the ratio of the lifetimes that are tried last to the best so far: what a
	// coarse grid misses looks like a leak.
	lifeRefined = 1.12
)

// lifetimeFit is the best model without and with a leak.
type lifetimeFit struct {
	// without and with are the residual sums of squares.
	without, with float64
	// leaked is the number of bytes over the span that the model with a leak attributes to it; se
	// is its standard error.
	leaked, se float64
	// lives are the lifetimes of the best models without and with a leak; 0 for none.
	lives [2]float64
}

// lifetimeProblem is what the models are fitted to.
type lifetimeProblem struct {
	t, y, alloc []float64
	one         []float64
	grown       []float64 // alloc since the first point
	total       float64   // the last of them
	leastBase   float64   // bound of c
	mostShare   float64   // bound of κ and ρ
	gain        float64   // residuals by which a model with a leak must be better
}

// fitLifetimes fits the bytes in use to the bytes allocated.
func (s *series) fitLifetimes() lifetimeFit {
	p := lifetimeProblem{
		t: s.t, y: s.Live, alloc: s.Alloc, one: s.one,
		mostShare: maxShare, leastBase: -maxDebt * slices.Max(s.Live),
	}
	if p.alloc == nil {
		p.alloc, p.mostShare = s.t, math.Inf(1)
	}
	p.grown = make([]float64, len(p.t))
	for i := range p.grown {
		p.grown[i] = p.alloc[i] - p.alloc[0]
	}
	p.total = p.grown[len(p.t)-1]
	variation := stats.SumSquares(p.y)
	p.gain = clearly * variation
	if p.total <= 0 {
		return lifetimeFit{without: variation, with: variation}
	}
	return p.fit(lifetimeFit{without: variation, with: math.Inf(1)})
}

// fit improves a fit by all lifetimes.
func (p *lifetimeProblem) fit(best lifetimeFit) lifetimeFit {
	if f, ok := stats.LeastSquares(p.y, p.one, p.grown); ok && p.allows(f, 1) {
		best.with, best.leaked, best.se = f.RSS, f.C[1]*p.total, f.LastError(len(p.t)-3)*p.total
	}
	for _, life := range lifetimes {
		best = p.try(best, life)
	}
	for _, life := range best.lives {
		if life > 0 {
			best = p.try(best, min(life*lifeRefined, lifetimes[len(lifetimes)-1]))
			best = p.try(best, life/lifeRefined)
		}
	}
	if best.without <= best.with {
		best.with, best.leaked, best.se = best.without, 0, 0
	}
	return best
}

// try returns the better of a fit and the models of one lifetime.
func (p *lifetimeProblem) try(best lifetimeFit, life float64) lifetimeFit {
	for _, kernel := range p.kernels(life) {
		if f, ok := stats.LeastSquares(p.y, p.one, kernel); ok && p.allows(f, 1) && f.RSS < best.without {
			best.without, best.lives[0] = f.RSS, life
		}
		if f, ok := stats.LeastSquares(p.y, p.one, kernel, p.grown); ok && p.allows(f, 2) && f.RSS < best.with-p.gain {
			best.with, best.leaked, best.se = f.RSS, f.C[2]*p.total, f.LastError(len(p.t)-3)*p.total
			best.lives[1] = life
		}
	}
	return best
}

// allows reports whether the coefficients of a model are possible: c, then the given number of
// shares.
func (p *lifetimeProblem) allows(f stats.Fit, shares int) bool {
	for _, c := range f.C[1 : 1+shares] {
		if c < 0 || c > p.mostShare {
			return false
		}
	}
	return f.C[0] >= p.leastBase
}

// kernels are the bytes in use at each time under one lifetime, if nothing leaked: where nothing
// that was in use at the start is freed, where all of it is, and for a process that has allocated
// at the first rate for long.
func (p *lifetimeProblem) kernels(life float64) (out [][]float64) {
	before := (p.alloc[1] - p.alloc[0]) / (p.t[1] - p.t[0])
	if life <= longestExponential {
		for _, start := range []float64{0, p.y[0], before * life} {
			out = append(out, p.exponential(life, start))
		}
	}
	return append(out, p.fixed(life, 0), p.fixed(life, before))
}

// exponential is the sum over the intervals of the bytes that were allocated in them and are still
// alive, for a mean lifetime τ; within an interval allocation is even. start is the number of bytes
// in use at first.
func (p *lifetimeProblem) exponential(tau, start float64) []float64 {
	out := make([]float64, len(p.t))
	out[0] = start
	for i := 1; i < len(p.t); i++ {
		dt := p.t[i] - p.t[i-1]
		decay := math.Exp(-dt / tau)
		out[i] = out[i-1]*decay + (p.alloc[i]-p.alloc[i-1])*tau/dt*(1-decay)
	}
	return out
}

// fixed is the number of bytes allocated within the last life. before is the rate of allocation
// before the first point.
func (p *lifetimeProblem) fixed(life, before float64) []float64 {
	out := make([]float64, len(p.t))
	for i, t := range p.t {
		if from := t - life; from < p.t[0] {
			out[i] = p.grown[i] + before*(p.t[0]-from)
		} else {
			out[i] = p.alloc[i] - at(p.t, p.alloc, from)
		}
	}
	return out
}

// at interpolates a curve.
func at(t, y []float64, x float64) float64 {
	for i := 1; i < len(t); i++ {
		if x <= t[i] {
			return y[i-1] + (y[i]-y[i-1])*(x-t[i-1])/(t[i]-t[i-1])
		}
	}
	return y[len(y)-1]
}

// lifetimeFeatures describe how much better a model with a leak fits than one without, and than the
// best curve that levels off.
func (s *series) lifetimeFeatures(f *Features, c curves, growth float64) {
	fit := s.fitLifetimes()
	n := len(s.t)
	floor := float64(n)*s.noise*s.noise + growth*growth*1e-6 + 1
	f.set(FeatureLeakRatio, stats.LikelihoodRoot(n, fit.with+floor, fit.without+floor), 0, 50)
	if fit.leaked > 0 {
		level := min(c.level.rss, c.plateau.rss)
		f.set(FeatureLeakOrCurve, stats.LikelihoodRoot(n, fit.with+floor, level+floor), -25, 25)
	}
	f.set(FeatureLeakShare, fit.leaked/growth, 0, 3)
	f.set(FeatureLeakT, fit.leaked/max(fit.se, 1e-3*growth), 0, 1000)
}
