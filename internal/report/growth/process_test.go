package growth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
)

// TestWorse: each process is worse than the one after it.
func TestWorse(t *testing.T) {
	chance := func(p float64) *float64 { return &p }
	ordered := []Process{
		{Verdict: verdict.SeriesLeak, Chance: chance(0.7), judgedFor: 60, leaked: 100},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.9), judgedFor: 60, leaked: 1},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.8), judgedFor: 60, leaked: 1},
		{Verdict: verdict.SeriesUndecided},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.5), judgedFor: 60, leaked: 1},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.1), judgedFor: 60, leaked: 1000},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.2), judgedFor: 10},
		{Verdict: verdict.SeriesUndecided, Heap: &Heap{}, notJudged: tooShort},
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

// TestShort: processes with too few snapshots matter if they have most of the memory, and ran to the end.
func TestShort(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	process := func(heap int64, ended time.Duration, notJudged string) Process {
		p := Process{Process: series.Process{PeakInuse: heap}, notJudged: notJudged}
		if ended > 0 {
			p.End = &manifest.End{Time: start.Add(ended)}
		}
		return p
	}
	for name, c := range map[string]struct {
		want int
		all  []Process
	}{
		"two workers of a small parent":   {2, []Process{process(11, 0, ""), process(8, 0, tooShort), process(8, 0, tooShort)}},
		"a small child":                   {0, []Process{process(11, 0, ""), process(8, 0, tooShort)}},
		"workers that were judged":        {0, []Process{process(11, 0, ""), process(15, 0, ""), process(15, 0, tooShort)}},
		"children that ended before":      {0, []Process{process(11, 0, ""), process(90, time.Minute, tooShort)}},
		"all were stopped together":       {1, []Process{process(11, time.Hour, ""), process(90, time.Hour-time.Second, tooShort)}},
		"children that ended much before": {0, []Process{process(11, time.Hour, ""), process(90, time.Minute, tooShort)}},
		"another reason":                  {0, []Process{process(11, 0, ""), process(90, 0, "no snapshot can be used")}},
	} {
		require.Equal(t, c.want, Short(c.all), name)
	}
}
