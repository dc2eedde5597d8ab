package gate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/internal/stats"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestStudentQuantiles compares with published tables (e.g. NIST/SEMATECH e-Handbook, 1.3.6.7.2),
// and against the normal distribution for many degrees of freedom.
func TestStudentQuantiles(t *testing.T) {
	for _, c := range []struct {
		n       int
		p, want float64
	}{
		{1, 0.05, 6.314}, {1, 0.001, 318.313}, {2, 0.01, 6.965}, {3, 0.001, 10.215}, {4, 0.025, 2.776}, {5, 0.005, 4.032},
		{7, 0.001, 4.785}, {13, 0.01, 2.650}, {30, 0.025, 2.042}, {100, 0.001, 3.174},
	} {
		require.InEpsilon(t, c.want, studentQuantile(c.p, c.n), 1e-3, "t of %d at %v", c.n, c.p)
	}
	require.InEpsilon(t, 3.0, studentQuantile(upperTail(3), 100000), 1e-3)
	require.InEpsilon(t, 3.0, zOf(upperTail(3)), 1e-9)
}

// TestNoiseIsCalibrated: another value of the same normal distribution exceeds z times the noise
// about as often as a normal value exceeds z, for any size of the set. The robust estimate's
// degrees of freedom are an approximation.
func TestNoiseIsCalibrated(t *testing.T) {
	testutil.NoRace(t)
	r := rand.New(rand.NewPCG(7, 7))
	const draws = 60000
	for _, z := range []float64{2, 3} {
		for _, m := range []int{4, 5, 7, 8, 10, 14, 20} {
			set, reference := 0.0, 0.0
			bySet, byReference := calibrateSet(m, z), calibrateReference(m, z)
			for range draws {
				values := make([]float64, m)
				for i := range values {
					values[i] = r.NormFloat64()
				}
				if r.NormFloat64()-stats.Median(values) > z*bySet.noise(values) {
					set++
				}
				if r.NormFloat64()-r.NormFloat64() > z*byReference.noise(values) {
					reference++
				}
			}
			want := upperTail(z)
			t.Logf("z %v, %d runs: %.2f and %.2f times the nominal rate", z, m, set/draws/want, reference/draws/want)
			require.Less(t, set/draws, 1.6*want, "z %v, %d runs", z, m)
			require.Less(t, reference/draws, 1.6*want, "z %v, %d runs", z, m)
			require.Greater(t, set/draws, 0.3*want, "z %v, %d runs", z, m)
		}
	}
}

func TestDeviationFromALine(t *testing.T) {
	drift := []float64{1, 1.03, 1.06, 1.09, 1.12, 1.15}
	require.InDelta(t, 0, deviationFromLine(drift), 1e-12)
	require.Greater(t, deviation(drift), 0.05)
	require.InDelta(t, math.Sqrt(2.0/45), deviationFromLine([]float64{0, 1.0 / 3, 0, 1.0 / 3}), 1e-12)
	require.InDelta(t, 1.4826, robustDeviation([]float64{-1, 0, 1, 100}), 1e-12)
	require.Zero(t, deviation([]float64{1}))
}
