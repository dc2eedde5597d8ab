package leaksim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/scripts/leaksim/behaviour"
	"github.com/heaplapse/heaplapse/scripts/leaksim/memory"
)

// TestNoise checks that a wave with a period of a tenth of a span is noise, but a linear trend and
// a leak are not.
func TestNoise(t *testing.T) {
	im := &image{grid: behaviour.Grid{End: 1}}
	var history []memory.Point
	for i := range im.grid.Steps() {
		at := im.grid.At(i)
		lost := int64(5e6 * at)
		history = append(history, memory.Point{Bytes: lost + int64(1e7+3e6*at+1e5*math.Sin(2*math.Pi*at*10)), Leaked: lost})
	}
	im.history = [][]memory.Point{history}
	s := site{stacks: make([][]uint64, 1)}
	require.InEpsilon(t, 1e5/math.Sqrt2, ownNoise(im, &s, 0, len(history)-1), 0.1)
}

// TestTruth checks the limits of 1 MiB, three standard deviations, and three intervals.
func TestTruth(t *testing.T) {
	evenly := func(x float64) float64 { return x }
	for _, c := range []struct {
		leak         bool
		lost, jitter int64
		curve        func(x float64) float64
		want         Verdict
	}{
		{true, 2 << 20, 0, evenly, IsLeak},
		{true, 1 << 19, 0, evenly, IsExcluded},
		{true, 2 << 20, 1 << 20, evenly, IsExcluded},
		{true, 2 << 20, 0, func(x float64) float64 { return math.Floor(1.5 * x) }, IsExcluded},
		{true, 2 << 20, 0, func(x float64) float64 { return math.Floor(2.5*x) / 2 }, IsExcluded},
		{true, 2 << 20, 0, func(x float64) float64 { return math.Floor(3.5*x) / 3 }, IsLeak},
		{false, 0, 1 << 20, evenly, IsHarmless},
	} {
		im := &image{grid: behaviour.Grid{End: 1}}
		var history []memory.Point
		for i := range im.grid.Steps() {
			lost := int64(float64(c.lost) * c.curve(float64(i)/float64(im.grid.Steps()-1)))
			history = append(history, memory.Point{Bytes: 8<<20 + lost + c.jitter*int64(i%2*2-1), Leaked: lost})
		}
		im.history = [][]memory.Point{history}
		s := site{stacks: make([][]uint64, 1), behaviour: behaviour.Behaviour{Leak: c.leak}}
		var window []shot
		for i := range 12 {
			window = append(window, shot{image: im, step: (len(history) - 1) * i / 11})
		}
		got := truthOf(&s, window, 0)
		require.Equal(t, c.want, got.Verdict, "%+v", c)
		require.InDelta(t, c.lost, got.Leaked, 2)
	}
}
