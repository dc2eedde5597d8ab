package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// TestWorse: each process is worse than the one after it.
func TestWorse(t *testing.T) {
	chance := func(p float64) *float64 { return &p }
	ordered := []Process{
		{Verdict: verdict.SeriesLeak, Chance: chance(0.7), time: 60, leaked: 100},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.9), time: 60, leaked: 1},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.8), time: 60, leaked: 1},
		{Verdict: verdict.SeriesUndecided},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.5), time: 60, leaked: 1},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.1), time: 60, leaked: 1000},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.2), time: 10},
		NotJudged(Process{}.Process, "its files are damaged"),
	}
	for i := range ordered {
		for k := range ordered {
			require.Equal(t, k-i > 0, Worse(&ordered[i], &ordered[k]) > 0, "%d %d", i, k)
		}
	}
}

// TestLinesOfScriptsArePooled: a row is a line of a script, else a function.
func TestLinesOfScriptsArePooled(t *testing.T) {
	g := &Report{Series: &series.Series{}}
	key := func(kind identity.KeyKind, line int) siteKey {
		return g.keyOf(siteview.View{Keys: identity.Keys{Site: 1, Kind: kind}, Blame: siteview.Blame{Line: line}})
	}
	require.NotEqual(t, key(identity.KeyScript, 3), key(identity.KeyScript, 5))
	require.Equal(t, key(identity.KeyScript, 3), key(identity.KeyScript, 3))
	require.Equal(t, key(identity.KeyFunction, 3), key(identity.KeyFunction, 5))
}
