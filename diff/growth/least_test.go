package growth

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// TestLeastGrowth: it follows from the time and the sampling of a recording.
func TestLeastGrowth(t *testing.T) {
	const kib = 1 << 10
	for name, c := range map[string]struct {
		seconds float64
		clock   series.ClockSource
		period  int64 // of samples; 0 for exact counts
		want    int64
	}{
		"two minutes":                    {120, series.ClockManifest, 0, 16 << 20 / 30},
		"ten seconds":                    {10, series.ClockManifest, 0, 64 * kib},
		"an hour":                        {3600, series.ClockManifest, 0, 1024 * kib},
		"a week":                         {7 * 24 * 3600, series.ClockManifest, 0, 1024 * kib},
		"a minute of samples of 64 KiB":  {60, series.ClockManifest, 64 * kib, 6 * 64 * kib},
		"a minute of samples of 512 KiB": {60, series.ClockManifest, 512 * kib, 1024 * kib},
		"no times":                       {60, series.ClockIndex, 0, 1024 * kib},
	} {
		t.Run(name, func(t *testing.T) {
			s := &series.Series{Clock: series.Clock{Source: c.clock, At: []float64{5, 5 + c.seconds, 9999}}}
			for range s.Clock.At {
				head := &series.Head{}
				if c.period > 0 {
					head.Format, head.Period = heapfile.FormatHeapV2, c.period
				}
				s.Heads = append(s.Heads, head)
			}
			require.Equal(t, c.want, leastGrowth(&window{Range: sites.Range{Last: 1}, series: s}))
		})
	}
}

// TestLeastRateSeen: a leak of exact counts is seen if it reaches the least growth, and a sampled one if it does so
// in all but 5 % of the recordings.
func TestLeastRateSeen(t *testing.T) {
	const least, period = 768 << 10, 128 << 10
	w := window{Range: sites.Range{Last: 1}, series: &series.Series{Clock: series.Clock{At: []float64{5, 47}}}}
	require.InDelta(t, least/42., leastRateSeen(&w, least), 0.001)

	w.period = period
	leaked := 42 * leastRateSeen(&w, least)
	random, seen := rand.New(rand.NewPCG(1, 2)), 0
	for range 10_000 {
		samples := 0
		for bytes := random.ExpFloat64() * period; bytes < leaked; bytes += random.ExpFloat64() * period {
			samples++
		}
		if samples*period >= least {
			seen++
		}
	}
	require.Greater(t, seen, 9500)
	require.Less(t, seen, 9800, "slower leaks are seen as often")
}

// TestVerdictsScale: of exact counts, a verdict depends on the growth over the least growth, so that what is measured
// of leaks from 1 MiB on is true of smaller ones in shorter recordings.
func TestVerdictsScale(t *testing.T) {
	var p trend.Points
	for i := range 30 {
		p.T = append(p.T, float64(i))
		p.Live = append(p.Live, float64(1<<20+i*(96<<10)+(i*i*7919)%(64<<10)))
		p.Alloc = append(p.Alloc, float64(i)*(4<<20))
	}
	whole := trend.Judge(p, trend.Options{MinGrowth: 1 << 20})
	for i := range p.T {
		p.T[i], p.Live[i], p.Alloc[i] = p.T[i]/8, p.Live[i]/8, p.Alloc[i]/8
	}
	eighth := trend.Judge(p, trend.Options{MinGrowth: 1 << 17})
	require.Equal(t, whole.Label, eighth.Label)
	require.InDelta(t, whole.Confidence, eighth.Confidence, 0.01)
	require.True(t, whole.Label.IsLeak())
}
