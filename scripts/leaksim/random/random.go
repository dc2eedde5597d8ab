// Package random draws from the distributions of the simulator. Numbers depend only on the seed.
package random

import (
	"math"
	"math/rand/v2"
)

// New returns a generator of random numbers. They depend only on seed and stream.
func New(seed, stream uint64) *rand.Rand {
	// The odd multipliers, constants of SplitMix64, make the generators of adjacent seeds
	// independent.
	return rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15+1, stream*0xbf58476d1ce4e5b9+seed))
}

// Uniform draws a number between low and high.
func Uniform(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// LogUniform draws a number whose logarithm is uniform.
func LogUniform(r *rand.Rand, low, high float64) float64 {
	return math.Exp(Uniform(r, math.Log(low), math.Log(high)))
}

// LogNormal draws from a log-normal distribution. sigma is the standard deviation of the logarithm.
func LogNormal(r *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*r.NormFloat64())
}

// Chance returns true with probability p.
func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Poisson draws from a Poisson distribution: exactly if the mean is below 30, otherwise by a normal
// approximation.
func Poisson(r *rand.Rand, mean float64) int64 {
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

// Binomial draws from a binomial distribution: exactly for small n, otherwise by a Poisson or a
// normal approximation.
func Binomial(r *rand.Rand, n int64, p float64) int64 {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case p > 0.5:
		return n - Binomial(r, n, 1-p)
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
		return min(n, Poisson(r, mean))
	}
	k := int64(math.Round(mean + math.Sqrt(mean*(1-p))*r.NormFloat64()))
	return min(n, max(0, k))
}

// Hypergeometric draws the number of marked objects among k that are taken from n, of which m are
// marked.
func Hypergeometric(r *rand.Rand, n, m, k int64) int64 {
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

// drawMarked draws the objects one by one. The distribution is symmetric in m and k.
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

// Bisect returns the limit up to which a monotonic condition holds between low and high.
func Bisect(low, high float64, holds func(float64) bool) float64 {
	for range 60 {
		if middle := (low + high) / 2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Clamp returns the nearest number to x within bounds.
func Clamp(x, low, high float64) float64 { return min(high, max(low, x)) }
