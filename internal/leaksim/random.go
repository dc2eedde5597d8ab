package leaksim

import (
	"math"
	"math/rand/v2"
)

// NewRand is a stream of random numbers that depends on its seeds alone.
func NewRand(seed, stream uint64) *rand.Rand {
	// An odd multiplier spreads neighbouring seeds (SplitMix64's constant).
	return rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15+1, stream*0xbf58476d1ce4e5b9+seed))
}

func uniform(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// logUniform is uniform in the exponent.
func logUniform(r *rand.Rand, low, high float64) float64 {
	return math.Exp(uniform(r, math.Log(low), math.Log(high)))
}

// logNormal has the given median; sigma is that of the logarithm.
func logNormal(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// poisson draws a number of events of the given mean: exactly below 30, by the normal law above.
func poisson(r *rand.Rand, mean float64) int64 {
	switch {
	case mean <= 0:
		return 0
	case mean < 30:
		limit := math.Exp(-mean)
		var n int64
		for p := r.Float64(); p > limit; p *= r.Float64() {
			n++
		}
		return n
	}
	return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
}

// binomial draws how many of n succeed with probability p: exactly for few, by the Poisson law for
// rare, by the normal law for many successes.
func binomial(r *rand.Rand, n int64, p float64) int64 {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case p > 0.5:
		return n - binomial(r, n, 1-p)
	case n <= 24:
		var k int64
		for range n {
			if r.Float64() < p {
				k++
			}
		}
		return k
	}
	mean := float64(n) * p
	if mean < 30 && p < 0.05 {
		return min(n, poisson(r, mean))
	}
	k := int64(math.Round(mean + math.Sqrt(mean*(1-p))*r.NormFloat64()))
	return min(n, max(0, k))
}

// hypergeometric draws how many of k objects, taken from n of which m are marked, are marked.
func hypergeometric(r *rand.Rand, n, m, k int64) int64 {
	if m == 0 || k <= 0 {
		return 0
	}
	if k >= n {
		return m
	}
	least := max(0, k-(n-m))
	if min(m, k) <= 64 {
		return max(least, drawMarked(r, n, m, k))
	}
	mean := float64(k) * float64(m) / float64(n)
	spread := math.Sqrt(mean * float64(n-m) / float64(n) * float64(n-k) / float64(max(1, n-1)))
	x := int64(math.Round(mean + spread*r.NormFloat64()))
	return min(m, k, max(least, x))
}

// drawMarked draws one by one; the law is symmetric in m and k.
func drawMarked(r *rand.Rand, n, m, k int64) int64 {
	m, k = max(m, k), min(m, k)
	var found int64
	for ; k > 0; k-- {
		if r.Float64()*float64(n) < float64(m) {
			m--
			found++
		}
		n--
	}
	return found
}
