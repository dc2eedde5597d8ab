package processes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestWorse: each process is worse than the one after it.
func TestWorse(t *testing.T) {
	chance := func(p float64) *float64 { return &p }
	ordered := []Judged{
		{Verdict: verdict.SeriesLeak, Chance: chance(0.7), judgedFor: 60, leaked: 100},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.9), judgedFor: 60, leaked: 1},
		{Verdict: verdict.SeriesLeak, Chance: chance(0.8), judgedFor: 60, leaked: 1},
		{Verdict: verdict.SeriesUndecided},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.5), judgedFor: 60, leaked: 1, alone: 0.9},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.5), judgedFor: 61, leaked: 1, alone: 0.1},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.1), judgedFor: 60, leaked: 1000},
		{Verdict: verdict.SeriesNoLeak, Chance: chance(0.2), judgedFor: 10},
		{Verdict: verdict.SeriesUndecided, Result: &growth.Result{}, NotJudged: tooShort},
		NotJudged(series.Process{}, "its files are damaged"),
	}
	for i := range ordered {
		for k := range ordered {
			require.Equal(t, k-i > 0, Worse(&ordered[i], &ordered[k]) > 0, "%d %d", i, k)
		}
	}
}

// TestShort: processes with too few snapshots matter if they have most of the memory, and ran to the end.
func TestShort(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	process := func(heap int64, ended time.Duration, notJudged string) *Judged {
		p := &Judged{Process: series.Process{PeakInuse: heap}, NotJudged: notJudged}
		if ended > 0 {
			p.End = &manifest.End{Time: start.Add(ended)}
		}
		return p
	}
	for name, c := range map[string]struct {
		want int
		all  []*Judged
	}{
		"two workers of a small parent":   {2, []*Judged{process(11, 0, ""), process(8, 0, tooShort), process(8, 0, tooShort)}},
		"a small child":                   {0, []*Judged{process(11, 0, ""), process(8, 0, tooShort)}},
		"workers that were judged":        {0, []*Judged{process(11, 0, ""), process(15, 0, ""), process(15, 0, tooShort)}},
		"children that ended before":      {0, []*Judged{process(11, 0, ""), process(90, time.Minute, tooShort)}},
		"all were stopped together":       {1, []*Judged{process(11, time.Hour, ""), process(90, time.Hour-time.Second, tooShort)}},
		"children that ended much before": {0, []*Judged{process(11, time.Hour, ""), process(90, time.Minute, tooShort)}},
		"another reason":                  {0, []*Judged{process(11, 0, ""), process(90, 0, "no snapshot can be used")}},
	} {
		require.Equal(t, c.want, Short(c.all), name)
	}
}

// TestPools: each process has the evidence of all that have the site, and of the heaps of their program.
func TestPools(t *testing.T) {
	key := Key{Program: "/bin/x", Group: "g"}
	process := func(confidence float64, label verdict.Site) *Judged {
		s := &series.Series{
			Process: series.Process{Exe: "/bin/x"}, Clock: series.Clock{At: []float64{0, 60}}, Heads: make([]*series.Head, 2),
		}
		v := trend.Verdict{Label: label, Confidence: confidence, CanLeak: true}
		r := &growth.Result{Total: v, Sites: []growth.Site{{Verdict: v, Members: []symbolize.SiteID{3}, Gained: 5 << 20, Held: 9 << 20}}}
		r.Last = 1
		p := Judge(s, r, func(*growth.Site) Key { return key })
		return &p
	}
	all := []*Judged{process(0.9, verdict.Leak), process(0.2, verdict.Irregular), {}}
	require.Equal(t, 1, LeaksIn(all, key))
	require.Zero(t, LeaksIn(all, Key{Program: "/bin/x", Group: "h"}))

	pools := PoolsOf(all)
	require.Len(t, pools[key], 2)
	require.Len(t, pools[Key{Program: "/bin/x", heap: true}], 2)
	pooled := pools.Pooled(*all[1], growth.Options{})
	require.Equal(t, 0.2, all[1].Result.Sites[0].Confidence, "the process itself stays")
	require.Equal(t, 2, pooled.Result.Sites[0].Pool.Processes)
	require.Equal(t, int64(10<<20), pooled.Result.Sites[0].Pool.Gained)
	require.Equal(t, *pooled.Chance, pooled.Result.Sites[0].Confidence)
	stays := growth.Result{Sites: []growth.Site{{Members: []symbolize.SiteID{3}}}}
	again := pools.Result(&stays, &all[0].Process, func(*growth.Site) Key { return key }, growth.Options{})
	require.Nil(t, again.Sites[0].Pool, "the site did not grow in this process")
	require.Equal(t, Judged{}, pools.Pooled(Judged{}, growth.Options{}), "there is nothing to judge again")
}
