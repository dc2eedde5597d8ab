package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.Zero(t, Median(nil))
	values := []float64{4, 1, 3, 2}
	require.InDelta(t, 2.5, Median(values), 0)
	require.Equal(t, []float64{4, 1, 3, 2}, values, "values stay in their order")
	require.InDelta(t, 3, Median(values[:3]), 0)
}

// TestRankedIsAsSorted compares all ranks with sorted values: of random values, of many equal ones, and
// of orders in which a division takes away little.
func TestRankedIsAsSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for name, value := range map[string]func(i, n int) float64{
		"random":     func(int, int) float64 { return r.NormFloat64() },
		"few values": func(int, int) float64 { return float64(r.IntN(3)) },
		"equal":      func(int, int) float64 { return 1 },
		"rising":     func(i, _ int) float64 { return float64(i) },
		"falling":    func(i, _ int) float64 { return float64(-i) },
		"a peak":     func(i, n int) float64 { return float64(min(i, n-i)) },
		"a sawtooth": func(i, _ int) float64 { return float64(i % 7) },
		"infinities": func(i, _ int) float64 { return math.Inf(i%2*2 - 1) },
	} {
		for _, n := range []int{1, 2, 3, 12, 13, 14, 100, 257} {
			values := make([]float64, n)
			for i := range values {
				values[i] = value(i, n)
			}
			sorted := slices.Sorted(slices.Values(values))
			for k := range n {
				v := slices.Clone(values)
				require.True(t, ranked(v, k) == sorted[k], "%s: rank %d of %d", name, k, n)
				require.True(t, k == 0 || slices.Max(v[:k]) <= v[k], "%s: rank %d of %d", name, k, n)
				require.GreaterOrEqual(t, slices.Min(v[k:]), v[k], "%s: rank %d of %d", name, k, n)
				slices.Sort(v)
				require.Equal(t, sorted, v, "%s: the values stay", name)
			}
		}
	}
	undefined := slices.Repeat([]float64{1, math.NaN(), 2}, 30)
	for k := range undefined {
		require.NotPanics(t, func() { ranked(slices.Clone(undefined), k) })
	}
}

// TestTheilSenAgainstDefinition computes the median of all slopes by its definition.
func TestTheilSenAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		n := 2 + r.IntN(20)
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(i)+r.Float64()/2, r.NormFloat64()
		}
		var all []float64
		for i := range n {
			for k := range i {
				all = append(all, (y[i]-y[k])/(x[i]-x[k]))
			}
		}
		require.InDelta(t, Median(all), TheilSen(x, y).Slope, 1e-12)
	}
}

// TestKendallVarianceBySimulation compares the formula with the variance of S over shuffles.
func TestKendallVarianceBySimulation(t *testing.T) {
	y := []float64{1, 2, 2, 3, 4, 5, 5, 5, 6}
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	r := rand.New(rand.NewPCG(1, 2))
	const rounds = 20000
	var sum float64
	for range rounds {
		shuffled := slices.Clone(y)
		r.Shuffle(len(y), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		s := Kendall(shuffled)
		sum += s * s
	}
	require.InEpsilon(t, sum/rounds, KendallVariance(x, y, TheilSen(x, y)), 0.05)
}

// columnsOf returns some columns of n random values, each with its own scale.
func columnsOf(r *rand.Rand, n int, scales ...float64) [][]float64 {
	out := make([][]float64, len(scales))
	for k, scale := range scales {
		out[k] = make([]float64, n)
		for i := range n {
			out[k][i] = scale * r.NormFloat64()
		}
	}
	return out
}

// TestLeastSquaresAtAnyScale: the columns of one fit are shares of time and bytes, twelve orders of
// magnitude apart.
func TestLeastSquaresAtAnyScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{4, 5, 24, 64, 65, 500} {
		for _, scales := range [][]float64{{1}, {1, 1}, {1, 1e12}, {1e-12, 1, 1e12}, {1, 1e12, 1e12, 1e-6}} {
			columns := columnsOf(r, n, scales...)
			y := make([]float64, n)
			for i := range y {
				for k := range columns {
					y[i] += float64(k+1) / scales[k] * columns[k][i]
				}
			}
			f, ok := LeastSquares(y, columns...)
			require.True(t, ok, "%d points, %v", n, scales)
			for k := range columns {
				require.InEpsilon(t, float64(k+1), f.C[k]*scales[k], 1e-9, "%d points, %v", n, scales)
			}
			require.InDelta(t, 0, f.RSS, 1e-12*float64(n))
		}
	}
}

// TestLeastSquaresResiduals: the residuals are at right angles to every column, and RSS is their
// sum of squares.
func TestLeastSquaresResiduals(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		n := 6 + r.IntN(100)
		columns := columnsOf(r, n, 1, 1e6, 1e-3)
		y := columnsOf(r, n, 1e9)[0]
		f, ok := LeastSquares(y, columns...)
		require.True(t, ok)
		rest := slices.Clone(y)
		for k, c := range columns {
			for i := range rest {
				rest[i] -= f.C[k] * c[i]
			}
		}
		for _, c := range columns {
			require.Less(t, math.Abs(dot(rest, c)), 1e-9*math.Sqrt(squares(rest)*squares(c)))
		}
		require.InEpsilon(t, squares(rest), f.RSS, 1e-9)
	}
}

// TestLastErrorBySimulation compares the standard error with the scatter of the coefficient over
// repeated draws.
func TestLastErrorBySimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n, rounds = 30, 4000
	columns := columnsOf(r, n, 1, 1, 1)
	var sum, squaredErrors float64
	for range rounds {
		f, ok := LeastSquares(columnsOf(r, n, 2)[0], columns...)
		require.True(t, ok)
		sum += f.C[2] * f.C[2]
		squaredErrors += f.LastError(n-3) * f.LastError(n-3)
	}
	require.InEpsilon(t, sum/rounds, squaredErrors/rounds, 0.08)
	f, _ := LeastSquares([]float64{1, 2, 4}, columnsOf(r, 3, 1, 1, 1)...)
	require.True(t, math.IsInf(f.LastError(0), 1), "nothing is left to estimate the noise from")
}

// TestDependentColumnsAreRefused: at any scale, also if rounding makes them differ in
// the last digits.
func TestDependentColumnsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, scale := range []float64{1e-12, 1, 1e12} {
		columns := columnsOf(r, 24, scale, 1)
		sum := make([]float64, 24)
		for i := range sum {
			sum[i] = 3*columns[0][i] + scale/3*columns[1][i]
		}
		_, ok := LeastSquares(sum, append(columns, sum)...)
		require.False(t, ok, "scale %g", scale)
		_, ok = LeastSquares(sum, columns[0], make([]float64, 24))
		require.False(t, ok, "a column of zeros")
	}
	_, ok := LeastSquares([]float64{1}, []float64{1}, []float64{2})
	require.False(t, ok, "fewer points than columns")
}

func TestExplained(t *testing.T) {
	x := []float64{1, 2, 3, 4}
	require.InDelta(t, 1, Explained([]float64{3, 5, 7, 9}, x), 1e-12)
	require.Zero(t, Explained([]float64{9, 7, 5, 3}, x), "it falls")
	require.Zero(t, Explained([]float64{2, 2, 2, 2}, x), "it is constant")
	require.Zero(t, Explained(x, []float64{2, 2, 2, 2}))
	require.InDelta(t, 0.2, Explained([]float64{0, 1, 0, 1}, x), 1e-12)
}

func BenchmarkLeastSquares(b *testing.B) {
	columns := columnsOf(rand.New(rand.NewPCG(1, 1)), 48, 1, 1, 1e9, 1e9)
	b.ReportAllocs()
	for b.Loop() {
		LeastSquares(columns[3], columns[:3]...)
	}
}
