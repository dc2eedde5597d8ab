package main

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/leaksim"
)

// drawn returns n outcomes whose probability of a leak depends on two features. For one of them it
// contradicts the direction of the feature.
func drawn(n int) []outcome {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]outcome, n)
	for i := range out {
		o := &out[i]
		o.features[trend.FeaturePoints] = 3
		o.features[trend.FeatureTail] = rng.Float64()
		o.features[trend.FeatureGap] = rng.Float64()
		o.Verdict = leaksim.IsHarmless
		tail, gap := o.features[trend.FeatureTail], o.features[trend.FeatureGap]
		if rng.Float64() < 0.1+0.8*tail*tail || gap > 0.98 {
			o.Verdict = leaksim.IsLeak
		}
	}
	return out
}

func TestModelIsCalibratedAndKeepsDirections(t *testing.T) {
	m := fit(examplesOf(drawn(6000)))
	at := func(tail, gap float64) float64 {
		var f trend.Features
		f[trend.FeaturePoints], f[trend.FeatureTail], f[trend.FeatureGap] = 3, tail, gap
		return m.Probability(&f)
	}
	for _, tail := range []float64{0.1, 0.5, 0.9} {
		require.InDelta(t, 0.1+0.8*tail*tail, at(tail, 0.5), 0.1)
	}
	for gap := 0.05; gap < 1; gap += 0.05 {
		require.LessOrEqual(t, at(0.5, gap), at(0.5, gap-0.05), "the probability must not increase with the gap")
	}
}

func TestModelFileHasItsCommand(t *testing.T) {
	var b strings.Builder
	writeModel(&b, options{seeds: "1-2", wideSeeds: "3", snapshots: "8"}, examplesOf(drawn(2000)))
	require.True(t, strings.HasPrefix(b.String(), "# Made by: go run ./scripts/leakbench -seeds 1-2 -wide-seeds 3 "+
		"-snapshots 8 -fit FILE\n# 2000 series that grew, of which "))
	m, err := trend.ParseModel(b.String())
	require.NoError(t, err)
	require.Len(t, m.Trees, fitTrees)
}

func TestReadExamplesInvertsWriteExamples(t *testing.T) {
	examples := examplesOf(drawn(50))
	path := filepath.Join(t.TempDir(), "examples")
	require.NoError(t, writeFile(path, func(w io.Writer) { writeExamples(w, examples) }))
	again, err := readExamples(path)
	require.NoError(t, err)
	require.Len(t, again, 50)
	for i := range again {
		require.Equal(t, examples[i].leak, again[i].leak)
		require.InDelta(t, examples[i].f[trend.FeatureTail], again[i].f[trend.FeatureTail], 1e-4)
	}
	require.NoError(t, os.WriteFile(path, []byte("1 2 3\n"), 0o600))
	_, err = readExamples(path)
	require.ErrorContains(t, err, "examples:1: want ")
}

func TestExcludedAndFlatSeriesAreNoExamples(t *testing.T) {
	all := drawn(10)
	all[3].Verdict = leaksim.IsExcluded
	all[4].features = trend.Features{}
	require.Len(t, examplesOf(all), 8)
}
