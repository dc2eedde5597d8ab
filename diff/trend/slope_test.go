package trend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/stretchr/testify/require"
)

// TestSlopeAndItsError: the slope of a line is found in spite of an outlier, and its standard error
// is what repeated draws scatter by.
func TestSlopeAndItsError(t *testing.T) {
	line := func(n int, noise float64, r *rand.Rand) (x, y []float64) {
		for i := range n {
			x = append(x, float64(i))
			y = append(y, 5+2*float64(i)+noise*r.NormFloat64())
		}
		return x, y
	}
	r := rand.New(rand.NewPCG(1, 1))
	x, y := line(20, 0, r)
	y[7] = 1e6
	slope, _ := Slope(x, y)
	require.InDelta(t, 2, slope, 0.2)

	for _, n := range []int{12, 40, 200} {
		var found, errors []float64
		for range 300 {
			slope, e := Slope(line(n, 3, r))
			found, errors = append(found, slope), append(errors, e)
		}
		scatter := math.Sqrt(stats.SumSquares(minus(found, 2)) / 300)
		require.InEpsilon(t, scatter, stats.Mean(errors), 0.35, "%d points", n)
	}
}

func minus(v []float64, by float64) (out []float64) {
	for _, x := range v {
		out = append(out, x-by)
	}
	return out
}

// TestFewPointsHaveNoSlope: a slope needs three distinct times or more.
func TestFewPointsHaveNoSlope(t *testing.T) {
	for _, x := range [][]float64{nil, {1}, {1, 2}, {1, 1, 2, 2}} {
		slope, e := Slope(x, make([]float64, len(x)))
		require.Zero(t, slope)
		require.Zero(t, e)
	}
}
