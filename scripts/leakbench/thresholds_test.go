package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/scripts/leaksim"
)

// TestExamplesAreReadAsWritten: with the confidence that the detector gave them.
func TestExamplesAreReadAsWritten(t *testing.T) {
	all, err := inScratch(leaksim.Simulate(3, 8, leaksim.Wide), "")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "examples.txt")
	f, err := os.Create(path)
	require.NoError(t, err)
	want := examplesOf(all)
	writeExamples(f, want)
	require.NoError(t, f.Close())
	got, err := readExamples(path)
	require.NoError(t, err)
	k := 0
	for _, e := range want {
		if e.features[trend.FeaturePoints] == 0 && !e.leak {
			continue
		}
		g := got[k]
		k++
		require.InDelta(t, e.confidence, g.confidence, 0.02, "the features are rounded")
		require.Equal(t, leaksim.Wide, g.population)
		require.Equal(t, []any{e.leak, e.large, e.seed, e.snapshots, e.mode, e.behaviour},
			[]any{g.leak, g.large, g.seed, g.snapshots, g.mode, g.behaviour})
	}
	require.Len(t, got, k)
	require.Greater(t, k, 50)
	for name, text := range map[string]string{
		"too few columns": "head\n1 1 3 8 wide timer constant 1\n",
		"no number":       "head\n1 1 3 8 wide timer constant" + strings.Repeat(" x", int(trend.FeatureCount)) + "\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readExamples(path)
		require.ErrorContains(t, err, path+":2: ", name)
	}
}

// TestThresholds counts examples by hand.
func TestThresholds(t *testing.T) {
	e := func(leak, large bool, confidence float64) example {
		return example{leak: leak, large: large, confidence: confidence, snapshots: 24, mode: "timer", population: leaksim.Plain}
	}
	list := []example{e(true, true, 0.9), e(true, true, 0.55), e(true, false, 0.99), e(false, true, 0.6), e(false, false, 1), e(false, true, 0.1)}
	require.Equal(t, score{right: 2, wrong: 1, missed: 1}, countAt(list, 0.5))
	require.Equal(t, score{right: 1, missed: 2}, countAt(list, 0.8))
	require.Equal(t, "0.61", leastConfidence(list))
	var b strings.Builder
	writeThresholds(&b, list)
	require.Contains(t, b.String(), "| exact counts | 3 | 0.67 / 0.67 |")
	require.Contains(t, b.String(), "| exact counts, one behaviour, 24 and 48 snapshots | 3 | 0.67 / 0.67 |")
	require.NotContains(t, b.String(), "samples without", "there are none")
	require.NotContains(t, b.String(), "one behaviour, 12 snapshots", "there are none")
}

// TestLivesAreTold: the tables name what happens to a process.
func TestLivesAreTold(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(12) {
		seen[leaksim.Simulate(16*seed, 2, leaksim.Plain).Functions()[0].Life] = true
	}
	require.Greater(t, len(seen), 2, "%v", seen)
}

// TestRecallAt: of four alarms, the third is wrong. A precision of two thirds allows all of them.
func TestRecallAt(t *testing.T) {
	list := []example{
		{large: true, leak: true, confidence: 0.9}, {large: true, leak: true, confidence: 0.8}, {large: true, confidence: 0.7},
		{large: true, leak: true, confidence: 0.6}, {leak: true, confidence: 0.99},
	}
	confidence := func(e *example) float64 { return e.confidence }
	require.InDelta(t, 0.5, recallAt(list, 0.95, confidence), 1e-9, "what is not large is not reported")
	require.InDelta(t, 0.75, recallAt(list, 0.66, confidence), 1e-9)
}
