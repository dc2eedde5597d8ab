package trend

import (
	"math"
	"slices"
)

// Models of how live bytes follow from what was allocated. Each allocated byte lives for a while; what is live at a
// time is what was allocated before and lives still:
//
//	L(t) = c + κ·∫ S(t−s) dA(s) + ρ·(A(t) − A(0))
//
// where A is the curve of allocated bytes, S the share of bytes that live longer than a given time, and ρ the share that
// is never freed. With exponential lifetimes (S = e^(−u/τ)) a process that warms up, a load that rises or falls and
// Little's law (live = rate × lifetime) are all one model; with a fixed lifetime (S = 1 until T, then 0) so is a cache
// that fills and then evicts its oldest entries. Only ρ > 0 is a leak, under any load. Without cumulative counts
// the rate is taken for constant.

// lifetimes are the τ and T that are tried, as shares of the span. The longest ones still end within what was seen: beyond, a long life
// cannot be told from a leak.
var lifetimes = []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// longestExponential bounds τ: e^(−1/0.6) of what was allocated at the start is still there at the end.
const longestExponential = 0.6

// lifetimeFit is the best model with and without a leak.
type lifetimeFit struct {
	// without and with are the residual sums of squares.
	without, with float64
	// leaked are the bytes over the span that the model with a leak puts down to it; se their standard error.
	leaked, se float64
}

// maxShare bounds κ and ρ, which are shares of what was allocated, with room for noise.
const maxShare = 1.2

// maxDebt bounds how far c, which is bytes that were there before and stay, may fall below zero by noise, as a share of the most that is
// live. Without a bound, much that dies and much that leaks add up to any curve.
const maxDebt = 0.1

// fitLifetimes fits y at times t from 0 to 1 to what was allocated by then; known is false where alloc is not in bytes.
func fitLifetimes(t, y, alloc []float64, known bool) lifetimeFit {
	most := math.Inf(1)
	if known {
		most = maxShare
	}
	share := func(c float64) bool { return 0 <= c && c <= most }
	least := -maxDebt * slices.Max(y)
	base := func(c float64) bool { return c >= least }
	n := len(t)
	one := ones(n)
	grown := make([]float64, n)
	for i := range grown {
		grown[i] = alloc[i] - alloc[0]
	}
	total := grown[n-1]
	fit := lifetimeFit{without: sumSquares(y), with: math.Inf(1)}
	if total <= 0 {
		fit.with = fit.without
		return fit
	}
	if c, rss, ok := leastSquares(y, one, grown); ok && base(c[0]) && share(c[1]) {
		fit.with, fit.leaked = rss, c[1]*total
		fit.se = slopeError(one, one, grown, rss) * total
	}
	variation := sumSquares(y)
	best := [2]float64{} // the lifetimes of the best models without and with a leak
	try := func(life float64) {
		for _, kernel := range kernels(t, y[0], alloc, life) {
			if c, rss, ok := leastSquares(y, one, kernel); ok && base(c[0]) && share(c[1]) && rss < fit.without {
				fit.without, best[0] = rss, life
			}
			c, rss, ok := leastSquares(y, one, kernel, grown)
			if ok && base(c[0]) && share(c[1]) && share(c[2]) && rss < fit.with-clearly*variation {
				fit.with, fit.leaked, best[1] = rss, c[2]*total, life
				fit.se = slopeError(one, kernel, grown, rss) * total
			}
		}
	}
	for _, life := range lifetimes {
		try(life)
	}
	for _, life := range best {
		if life > 0 {
			try(min(life*lifeRefined, lifetimes[len(lifetimes)-1]))
			try(life / lifeRefined)
		}
	}
	if fit.without <= fit.with {
		fit.with, fit.leaked, fit.se = fit.without, 0, 0
	}
	return fit
}

// clearly is the least gain, as a share of the variation, for which a model with more in it is preferred.
const clearly = 1e-3

// lifeRefined is the ratio of the lifetimes tried last, around the best, to that: what a coarse grid misses looks like a leak.
const lifeRefined = 1.12

// kernels are the live bytes at each time under one lifetime, if nothing leaked: where nothing that was live at the start dies,
// where all of it does, and for a process that has allocated at the first rate for long.
func kernels(t []float64, start float64, alloc []float64, life float64) (out [][]float64) {
	before := (alloc[1] - alloc[0]) / (t[1] - t[0])
	if life <= longestExponential {
		for _, live := range []float64{0, start, before * life} {
			out = append(out, exponential(t, alloc, life, live))
		}
	}
	return append(out, fixed(t, alloc, life, 0), fixed(t, alloc, life, before))
}

// exponential is Σ over the intervals of what was allocated in them and lives still, for a mean lifetime τ; within an
// interval allocation is even. start is what was live at first.
func exponential(t, alloc []float64, tau, start float64) []float64 {
	out := make([]float64, len(t))
	out[0] = start
	for i := 1; i < len(t); i++ {
		dt := t[i] - t[i-1]
		decay := math.Exp(-dt / tau)
		out[i] = out[i-1]*decay + (alloc[i]-alloc[i-1])*tau/dt*(1-decay)
	}
	return out
}

// fixed is what was allocated within the last T.
func fixed(t, alloc []float64, life, before float64) []float64 {
	out := make([]float64, len(t))
	for i := range t {
		if from := t[i] - life; from < t[0] {
			out[i] = alloc[i] - alloc[0] + before*(t[0]-from)
		} else {
			out[i] = alloc[i] - at(t, alloc, from)
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

// slopeError is the standard error of the last coefficient of a fit with three terms: the residual variance over what is
// left of its basis after the others.
func slopeError(one, kernel, grown []float64, rss float64) float64 {
	return lastError(rss, one, kernel, grown)
}

// lastError is the standard error of the last coefficient of a fit: the residual variance over what is left of its basis
// after the others; over what is left after the constant where those depend on each other.
func lastError(rss float64, basis ...[]float64) float64 {
	others, last := basis[:len(basis)-1], basis[len(basis)-1]
	_, left, ok := leastSquares(last, others...)
	if !ok {
		_, left, ok = leastSquares(last, basis[0])
	}
	free := float64(len(last) - len(basis))
	if !ok || left <= 0 || free <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(rss / free / left)
}
