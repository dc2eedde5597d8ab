package summary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/sites"
)

// TestSwing: it is the largest fall that the values rise from again.
func TestSwing(t *testing.T) {
	const mib = 1 << 20
	sawtooth := func(period, phase int) func(i int) int64 {
		return func(i int) int64 { return int64((i+phase)%period) * mib }
	}
	for name, c := range map[string]struct {
		value    func(i int) int64
		from, to float64
	}{
		"emptied in the middle":       {sawtooth(80, 40), 60, 80},
		"emptied twice":               {sawtooth(35, 10), 20, 35},
		"emptied just before the end": {sawtooth(80, 2), 0, 0},
		"all the time":                {sawtooth(2, 0), 0, 0},
		"a line":                      {func(i int) int64 { return int64(i) * mib }, 0, 0},
		"freed after the start":       {func(i int) int64 { return int64(max(10, 80-2*i)) * mib }, 0, 0},
		"one snapshot falls": {func(i int) int64 {
			if i == 40 {
				return 0
			}
			return 80 * mib
		}, 0, 0},
		"truncated in between": {func(i int) int64 {
			if i > 30 && i < 50 {
				return sites.Hidden
			}
			return 80 * mib
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			values := make([]int64, 80)
			for i := range values {
				values[i] = c.value(i)
			}
			got := swing(values)
			require.GreaterOrEqual(t, got, c.from*mib)
			require.LessOrEqual(t, got, c.to*mib)
		})
	}
	require.Zero(t, swing(nil))
	require.Zero(t, swing([]int64{sites.Hidden, 5}))
}
