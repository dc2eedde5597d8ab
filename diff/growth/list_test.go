package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// TestWhatSlowsDownComesLater: of two leaks, the one that grows faster at the end is the first, even if the other has
// grown more.
func TestWhatSlowsDownComesLater(t *testing.T) {
	leak := func(low, tail float64) (s Site) {
		s.Label, s.Confidence, s.Low = verdict.Leak, 0.99, low
		s.Features[trend.FeaturePoints], s.Features[trend.FeatureTail] = 3, tail
		return s
	}
	slower, steady, faster := leak(1000, 0.4), leak(500, 1), leak(500, 3)
	plateaued := leak(9000, 1)
	plateaued.Label = verdict.Plateaued
	require.Equal(t, []Site{steady, faster, slower, plateaued}, ranked([]Site{plateaued, slower, steady, faster}))
}
