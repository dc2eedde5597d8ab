package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

func judged(v leaksim.Verdict, called bool, rank int, confidence float64) outcome {
	return outcome{
		Function: leaksim.Function{Truth: leaksim.Truth{Verdict: v}},
		finding:  finding{label: "x", called: called, rank: rank, confidence: confidence},
	}
}

func TestScores(t *testing.T) {
	all := []outcome{
		judged(leaksim.IsLeak, true, 1, 0.95), judged(leaksim.IsHarmless, true, 2, 0.8),
		judged(leaksim.IsExcluded, true, 3, 0.9), judged(leaksim.IsLeak, true, 4, 0.7),
		judged(leaksim.IsLeak, false, 5, 0.3), judged(leaksim.IsHarmless, false, 6, 0),
	}
	s := count(all, byDetector)
	require.Equal(t, score{right: 2, wrong: 1, missed: 1}, s)
	require.InDelta(t, 2.0/3, s.precision(), 1e-9)
	require.InDelta(t, 2.0/3, s.recall(), 1e-9)
	require.InDelta(t, 2.0/3, s.f1(), 1e-9)
	hits, looked := topPrecision(all) // the first three that are not excluded: 1, 2, 4
	require.Equal(t, []int{2, 3}, []int{hits, looked})
	bins := calibration(all)
	require.Equal(t, bin{sites: 1, leaks: 1, confidence: 0.95}, bins[9])
	require.Equal(t, bin{sites: 1, leaks: 0, confidence: 0.8}, bins[8])
	require.Equal(t, 1, bins[0].sites)
}

// TestIntervals checks that the interval is a single value if all processes are alike, and compares
// it with the normal approximation if there are two kinds.
func TestIntervals(t *testing.T) {
	var same, mixed []outcome
	for seed := range uint64(20) {
		for k := range 10 {
			o := judged(leaksim.IsLeak, k < 5, 0, 0)
			o.Seed = seed
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
	// Five rising values: S = 10 and the variance is 5·4·15/18, so Z = 9/√(50/3).
	require.InDelta(t, 9/math.Sqrt(50.0/3), mannKendall([]float64{1, 2, 3, 4, 5}), 1e-9)
	// One tied pair: S = 5 and the variance is (4·3·13 − 2·1·9)/18.
	require.InDelta(t, 4/math.Sqrt((4*3*13-2*9)/18.0), mannKendall([]float64{1, 2, 2, 3}), 1e-9)
	require.Zero(t, mannKendall([]float64{2, 2, 2}))
	require.InDelta(t, 1, risingLine(leaksim.Curve{Seconds: []float64{0, 1, 5}, Bytes: []float64{3, 5, 13}}), 1e-9)
	require.Zero(t, risingLine(leaksim.Curve{Seconds: []float64{0, 1, 5}, Bytes: []float64{13, 5, 3}}))
	// 100 allocations, 90 of them freed: 1 − 91/12.
	c := leaksim.Curve{Allocs: []float64{50, 150}, Objects: []float64{5, 15}, Bytes: []float64{0, 0}}
	require.InDelta(t, 1-91.0/12, scalene(c), 1e-9)
	require.True(t, math.IsNaN(scalene(leaksim.Curve{Objects: []float64{5, 15}})))
}

func TestThreshold(t *testing.T) {
	p := peer{name: "last minus first", score: func(c leaksim.Curve) float64 { return gained(c.Bytes) }}
	of := func(v leaksim.Verdict, growth float64) outcome {
		return outcome{Function: leaksim.Function{
			Truth: leaksim.Truth{Verdict: v}, Observed: leaksim.Curve{Bytes: []float64{0, growth}},
		}}
	}
	all := []outcome{
		of(leaksim.IsLeak, 9), of(leaksim.IsLeak, 7), of(leaksim.IsHarmless, 8), of(leaksim.IsHarmless, 3),
		of(leaksim.IsHarmless, 2), of(leaksim.IsExcluded, 1), of(leaksim.IsLeak, 1),
	}
	// F1 by threshold: 2/4 at 9, 2/5 at 8, 4/6 at 7, 6/9 at 1.
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
