package trend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/verdict"
)

// batches is a process whose batches grow: all of a batch is freed, some of its work is done per byte, and a share of
// the bytes may leak. Samples of 64 KiB, as of a Python program under the built-in engine.
func batches(seed uint64, ramp, leak float64) Points {
	r := rand.New(rand.NewPCG(seed, 41))
	const n, perInterval, batch = 40, 4, 1.5 * mib
	var p Points
	var alloc, work, lost float64
	for i := range n {
		size := batch * (1 + (ramp-1)*float64(i)/(n-1))
		if i > 0 {
			came := size * perInterval * (1 + 0.1*r.NormFloat64())
			alloc, work, lost = alloc+came, work+came*(1+0.05*r.NormFloat64())+0.5*batch, lost+leak*came
		}
		live := lost + size*(0.8+0.2*r.Float64()) // a snapshot falls into a batch
		const sample = 64 << 10
		samples := live / sample
		live = math.Max(0, math.Round(samples+math.Sqrt(samples)*r.NormFloat64())) * sample
		p.T, p.Work = append(p.T, float64(i)), append(p.Work, work)
		p.Live, p.Objects, p.Alloc = append(p.Live, live), append(p.Objects, live/100), append(p.Alloc, alloc+live)
	}
	p.Period, p.Growers, p.Share, p.Dominates = 64<<10, 2, 0.8, true
	return p
}

// TestGrowingBatchesAreLoad: a program of batches that grow allocates more and more, works more and more, and keeps
// nothing. Over its work, the load does not change, so that what it holds looks like a leak.
func TestGrowingBatchesAreLoad(t *testing.T) {
	for seed := range uint64(12) {
		v := Judge(batches(seed, 4, 0), Options{})
		require.False(t, v.Label.IsSuspicious(), "seed %d: %s %.2f", seed, v.Label, v.Confidence)
		require.Contains(t, []verdict.Site{verdict.LoadDriven, verdict.Irregular, verdict.Stable, verdict.Warming}, v.Label)
	}
}

// TestGrowingBatchesHideNoLeak: the same process loses a fifth of each batch.
func TestGrowingBatchesHideNoLeak(t *testing.T) {
	for seed := range uint64(12) {
		v := Judge(batches(seed, 4, 0.2), Options{})
		require.True(t, v.Label.IsLeak(), "seed %d: %s %.2f", seed, v.Label, v.Confidence)
	}
}
