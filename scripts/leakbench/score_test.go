package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func judged(v verdict, called bool, rank int, confidence float64) outcome {
	return outcome{truth: truth{verdict: v}, finding: finding{label: "x", called: called, rank: rank, confidence: confidence}}
}

func TestScores(t *testing.T) {
	all := []outcome{
		judged(isLeak, true, 1, 0.95), judged(isHarmless, true, 2, 0.8), judged(isExcluded, true, 3, 0.9),
		judged(isLeak, true, 4, 0.7), judged(isLeak, false, 5, 0.3), judged(isHarmless, false, 6, 0),
	}
	s := count(all, byDetector)
	require.Equal(t, score{right: 2, wrong: 1, missed: 1}, s)
	require.InDelta(t, 2.0/3, s.precision(), 1e-9)
	require.InDelta(t, 2.0/3, s.recall(), 1e-9)
	require.InDelta(t, 2.0/3, s.f1(), 1e-9)
	hits, looked := topPrecision(all) // the first three that count: 1, 2, 4
	require.Equal(t, []int{2, 3}, []int{hits, looked})
	bins := calibration(all)
	require.Equal(t, bin{sites: 1, leaks: 1, confidence: 0.95}, bins[9])
	require.Equal(t, bin{sites: 1, leaks: 0, confidence: 0.8}, bins[8])
	require.Equal(t, 1, bins[0].sites)
}

// TestIntervals: with one kind of process there is nothing to vary; with two, the interval holds the pooled value
// and lies within the extremes.
func TestIntervals(t *testing.T) {
	var same, mixed []outcome
	for seed := range uint64(20) {
		for k := range 10 {
			o := judged(isLeak, k < 5, 0, 0)
			o.seed = seed
			same = append(same, o)
			o.called = k < 3+4*int(seed%2)
			mixed = append(mixed, o)
		}
	}
	_, recall := intervals(same)
	require.Equal(t, interval{0.5, 0.5}, recall)
	_, recall = intervals(mixed)
	// The mean of 20 values of 0.3 or 0.7 has a standard deviation of 0.2/√20.
	require.InDelta(t, 0.5-1.96*0.2/math.Sqrt(20), recall.low, 0.02)
	require.InDelta(t, 0.5+1.96*0.2/math.Sqrt(20), recall.high, 0.02)
}

func TestPeers(t *testing.T) {
	require.InDelta(t, 3.0, gained([]float64{math.NaN(), 1, 9, 4, math.NaN()}), 1e-9)
	require.InDelta(t, 2.0/3, risingSteps([]float64{1, 2, 2, 3}), 1e-9)
	// S = 10 of five rising values: variance 5·4·15/18, so Z = 9/√(50/3).
	require.InDelta(t, 9/math.Sqrt(50.0/3), mannKendall([]float64{1, 2, 3, 4, 5}), 1e-9)
	// One tied pair: S = 5, variance (4·3·13 − 2·1·9)/18.
	require.InDelta(t, 4/math.Sqrt((4*3*13-2*9)/18.0), mannKendall([]float64{1, 2, 2, 3}), 1e-9)
	require.Zero(t, mannKendall([]float64{2, 2, 2}))
	require.InDelta(t, 1, risingLine(curve{seconds: []float64{0, 1, 5}, bytes: []float64{3, 5, 13}}), 1e-9)
	require.Zero(t, risingLine(curve{seconds: []float64{0, 1, 5}, bytes: []float64{13, 5, 3}}))
	// 100 allocations of which 90 were freed: 1 − 91/12.
	c := curve{allocs: []float64{50, 150}, objects: []float64{5, 15}, bytes: []float64{0, 0}}
	require.InDelta(t, 1-91.0/12, scalene(c), 1e-9)
	require.True(t, math.IsNaN(scalene(curve{objects: []float64{5, 15}})))
}

func TestThreshold(t *testing.T) {
	p := peer{name: "last minus first", score: func(c curve) float64 { return gained(c.bytes) }}
	of := func(v verdict, growth float64) outcome {
		return outcome{truth: truth{verdict: v}, observed: curve{bytes: []float64{0, growth}}}
	}
	all := []outcome{of(isLeak, 9), of(isLeak, 7), of(isHarmless, 8), of(isHarmless, 3), of(isHarmless, 2), of(isExcluded, 1), of(isLeak, 1)}
	// F1 of 9: 2/4; of 8: 2/5; of 7: 4/6; of 1: 6/9.
	require.InDelta(t, 7.0, bestThreshold(p, all), 1e-9)
}

func TestParseSeeds(t *testing.T) {
	got, err := parseSeeds("1-3,12")
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2, 3, 12}, got)
	for _, bad := range []string{"", "x", "3-1", "1-", "-1"} {
		_, err := parseSeeds(bad)
		require.Error(t, err, bad)
	}
}

// TestNoise: an even wave of a tenth of a span around a straight line is noise, the line is not; a leak is left out.
func TestNoise(t *testing.T) {
	im := &image{grid: grid{end: 1}}
	var history []point
	for i := range im.grid.steps() {
		at := im.grid.at(i)
		lost := int64(5e6 * at)
		history = append(history, point{bytes: lost + int64(1e7+3e6*at+1e5*math.Sin(2*math.Pi*at*10)), leaked: lost})
	}
	im.history = [][]point{history}
	s := site{stacks: make([][]uint64, 1)}
	require.InEpsilon(t, 1e5/math.Sqrt2, ownNoise(im, &s, 0, len(history)-1), 0.1)
}

// TestTruth: the bytes lost between first and last snapshot decide, against 1 MiB and three sigma.
func TestTruth(t *testing.T) {
	for _, c := range []struct {
		leak         bool
		lost, jitter int64
		want         verdict
	}{
		{true, 2 << 20, 0, isLeak},
		{true, 1 << 19, 0, isExcluded},
		{true, 2 << 20, 1 << 20, isExcluded},
		{false, 0, 1 << 20, isHarmless},
	} {
		im := &image{grid: grid{end: 1}}
		var history []point
		for i := range im.grid.steps() {
			lost := c.lost * int64(i) / int64(im.grid.steps()-1)
			history = append(history, point{bytes: 8<<20 + lost + c.jitter*int64(i%2*2-1), leaked: lost})
		}
		im.history = [][]point{history}
		s := site{stacks: make([][]uint64, 1), behaviour: behaviour{leak: c.leak}}
		got := truthOf(&s, shot{image: im}, shot{image: im, step: len(history) - 1}, 0)
		require.Equal(t, c.want, got.verdict, "%+v", c)
		require.Equal(t, c.lost, got.leaked)
	}
}
