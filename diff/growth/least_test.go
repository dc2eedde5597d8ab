package growth

import (
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
