package random

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDistributions compares means and variances with their formulas, for each method of drawing.
func TestDistributions(t *testing.T) {
	const n = 20000
	for name, c := range map[string]struct {
		draw           func(*rand.Rand) int64
		mean, variance float64
	}{
		"poisson, small":        {func(r *rand.Rand) int64 { return Poisson(r, 3.3) }, 3.3, 3.3},
		"poisson, large":        {func(r *rand.Rand) int64 { return Poisson(r, 250) }, 250, 250},
		"binomial, few":         {func(r *rand.Rand) int64 { return Binomial(r, 20, 0.3) }, 6, 4.2},
		"binomial, rare":        {func(r *rand.Rand) int64 { return Binomial(r, 1000, 0.004) }, 4, 3.984},
		"binomial, many":        {func(r *rand.Rand) int64 { return Binomial(r, 1000, 0.4) }, 400, 240},
		"binomial, likely":      {func(r *rand.Rand) int64 { return Binomial(r, 1000, 0.9) }, 900, 90},
		"hypergeometric, few":   {func(r *rand.Rand) int64 { return Hypergeometric(r, 100, 20, 30) }, 6, 30 * 0.2 * 0.8 * 70 / 99},
		"hypergeometric, many":  {func(r *rand.Rand) int64 { return Hypergeometric(r, 1000, 400, 300) }, 120, 300 * 0.4 * 0.6 * 700 / 999},
		"hypergeometric, whole": {func(r *rand.Rand) int64 { return Hypergeometric(r, 10, 4, 10) }, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(1, 1)
			var sum, squares float64
			for range n {
				x := float64(c.draw(r))
				sum += x
				squares += (x - c.mean) * (x - c.mean)
			}
			require.InDelta(t, c.mean, sum/n, 5*math.Sqrt(c.variance/n)+1e-9)
			require.InDelta(t, c.variance, squares/n, 0.06*c.variance+1e-9)
		})
	}
}
