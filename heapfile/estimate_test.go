package heapfile_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

func sample(io, ib, ao, ab int64) heapfile.Sample {
	return heapfile.Sample{Counts: heapfile.Counts{InuseObjects: io, InuseBytes: ib, AllocObjects: ao, AllocBytes: ab}}
}

// scaled is n / (1 − exp(−bytes/objects/period)), by the exponential series in 200 bits.
func scaled(n, objects, bytes, period int64) float64 {
	f := func(v int64) *big.Float { return new(big.Float).SetPrec(200).SetInt64(v) }
	x := new(big.Float).Quo(f(bytes), new(big.Float).Mul(f(objects), f(period)))
	halvings := 0
	for ; x.Cmp(big.NewFloat(0.5)) > 0; halvings++ { // exp(x) = exp(x/2)²
		x.Quo(x, f(2))
	}
	e, term := f(1), f(1)
	for i := int64(1); i < 60; i++ {
		term.Mul(term, x)
		term.Quo(term, f(i))
		e.Add(e, term)
	}
	for range halvings {
		e.Mul(e, e)
	}
	p := new(big.Float).Sub(f(1), new(big.Float).Quo(f(1), e))
	v, _ := new(big.Float).Quo(f(n), p).Float64()
	return v
}

func TestEstimateDividesByTheProbabilityOfBeingSampled(t *testing.T) {
	for _, period := range []int64{2, 1024, 16384, 524288, 1 << 30} {
		for _, mean := range []int64{1, 8, 100, 4096, 524288, 1 << 24} {
			for _, objects := range []int64{1, 17, 1000} {
				bytes := objects * mean
				e := sample(objects, bytes, 2*objects, 2*bytes).Estimate(period)
				// float64 loses what 1 − exp(−x) cancels.
				tolerance := 1e-15 * math.Max(1, float64(period)/float64(mean))
				for _, c := range []struct{ got, n int64 }{
					{e.InuseObjects, objects}, {e.InuseBytes, bytes}, {e.AllocObjects, 2 * objects}, {e.AllocBytes, 2 * bytes},
				} {
					want := scaled(c.n, objects, bytes, period)
					require.InDelta(t, want, float64(c.got), 1+4*tolerance*want, "period %d, %d objects of %d bytes", period, objects, mean)
				}
			}
		}
	}
}

// jemalloc writes counts of samples of 8 B and of 8 MiB so that the estimates are the true sizes.
func TestEstimateOfJemallocCounts(t *testing.T) {
	e := sample(17, 2312, 0, 0).Estimate(524288)
	require.InEpsilon(t, 65_537, e.InuseObjects, 0.01)
	require.InEpsilon(t, 8_388_608+524_288, e.InuseBytes, 0.01)
}

func TestEstimateTruncatesTowardZero(t *testing.T) {
	// 1000 / (1 − exp(−1000/1024)) = 1604.02…, 1 / (…) = 1.60…
	require.Equal(t, int64(1), sample(1, 1000, 0, 0).Estimate(1024).InuseObjects)
	require.Equal(t, int64(math.Trunc(scaled(1000, 1, 1000, 1024))), sample(1, 1000, 0, 0).Estimate(1024).InuseBytes)
}

func TestEstimateOfExactCountsIsTheCounts(t *testing.T) {
	s := sample(3, 300, 4, 401)
	for _, period := range []int64{-1, 0, 1} {
		require.Equal(t, s.Counts, s.Estimate(period))
	}
}

func TestEstimateWithoutObjectsOrBytesIsZero(t *testing.T) {
	require.Zero(t, sample(0, 4096, 7, 0).Estimate(1024))
}

func TestEstimateKeepsExactBytesWithoutObjects(t *testing.T) {
	s := sample(0, 4096, 0, 8192)
	require.Equal(t, s.Counts, s.Estimate(1))
}

func TestEstimateScalesInUseAndAllocatedSeparately(t *testing.T) {
	e := sample(1, 8, 1, 1<<20).Estimate(1024)
	require.Equal(t, sample(1, 8, 0, 0).Estimate(1024).InuseObjects, e.InuseObjects)
	require.Equal(t, sample(0, 0, 1, 1<<20).Estimate(1024).AllocObjects, e.AllocObjects)
	require.Greater(t, e.InuseObjects, e.AllocObjects)
}

func TestEstimateReadsWrappedCountsModulo2To32(t *testing.T) {
	for _, c := range []struct {
		rule                 string
		objects, bytes, want int64
	}{
		{"-1 object in 5 GB", -1, 5_000_000_000, 1<<32 - 1},
		{"the lowest wrapped count", math.MinInt32, 1 << 31, 1 << 31},
		{"too few bytes for that many objects: a real -1", -1, 524288, -1},
		{"a count below 32 bits did not wrap", math.MinInt32 - 1, 1 << 40, math.MinInt32 - 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := sample(c.objects, c.bytes, c.objects, c.bytes).Estimate(1)
			require.Equal(t, c.want, e.InuseObjects)
			require.Equal(t, c.want, e.AllocObjects)
			require.Equal(t, c.bytes, e.InuseBytes)
		})
	}
}

func TestEstimateSaturates(t *testing.T) {
	e := sample(math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64).Estimate(1 << 30)
	require.Equal(t, heapfile.Counts{InuseObjects: math.MaxInt64, InuseBytes: math.MaxInt64, AllocObjects: math.MaxInt64, AllocBytes: math.MaxInt64}, e)
}

func TestCountsAddAndSubtract(t *testing.T) {
	a, b := sample(1, 2, 3, 4).Counts, sample(10, 20, 30, 40).Counts
	require.Equal(t, sample(11, 22, 33, 44).Counts, a.Add(b))
	require.Equal(t, b, a.Add(b).Sub(a))
}
