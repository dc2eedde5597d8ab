package sites

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
)

// TestAnEmptyStartIsLeftOut: nothing grows before a program allocates for the first time.
func TestAnEmptyStartIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		first  int64   // bytes in use in the first snapshot
		gap    float64 // seconds from there to the second one; the others follow every 60
		source series.ClockSource
		after  int // snapshots after the first
		empty  int
	}{
		"long before the others":      {0, 600, series.ClockManifest, 12, 1},
		"just before the others":      {0, 60, series.ClockManifest, 12, 0},
		"not empty":                   {64, 600, series.ClockManifest, 12, 0},
		"the clock is not the time":   {0, 600, series.ClockIndex, 12, 0},
		"too few would be left":       {0, 600, series.ClockManifest, 7, 0},
		"as few as it takes are left": {0, 600, series.ClockManifest, 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := recorded(times(c.after, busy)...)
			s.Clock.Source = c.source
			s.Heads[0].Completeness.Estimate.InuseBytes = c.first
			for i := range s.Clock.At[1:] {
				s.Clock.At[i+1] += c.gap - 60
			}
			r := JudgedRange(s, 0, 0)
			require.Equal(t, c.empty, r.Empty)
			require.Equal(t, c.empty, r.First)
			require.Equal(t, len(s.Heads), r.Len()+r.Empty)
		})
	}
}
