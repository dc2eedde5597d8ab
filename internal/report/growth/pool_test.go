package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestLinesArePooledApart: two lines of a Python function are two sites. A cache on one of them does not get the
// evidence of a leak on the other.
func TestLinesArePooledApart(t *testing.T) {
	g := &Report{Series: &series.Series{}}
	key := func(kind identity.KeyKind, line int) siteKey {
		return g.keyOf(siteview.View{Keys: identity.Keys{Kind: kind, Site: 7}, Blame: siteview.Blame{Line: line}})
	}
	require.NotEqual(t, key(identity.KeyScript, 21), key(identity.KeyScript, 22))
	require.Equal(t, key(identity.KeyScript, 21), key(identity.KeyScript, 21))
	require.Equal(t, key(identity.KeyFunction, 21), key(identity.KeyFunction, 22), "a native function is one site")
}

// TestPooledSite: a site that grew in two processes may be a leak in one of them.
func TestPooledSite(t *testing.T) {
	site := func(l verdict.Site) growth.Site {
		return growth.Site{
			Verdict: trend.Verdict{Label: l}, Members: []symbolize.SiteID{3},
			Pool: &growth.Pool{Confidence: 0.98, Own: 0.96, Processes: 2, Gained: 5 << 20},
		}
	}
	process := func(l verdict.Site) Process {
		return Process{
			result: &growth.Result{Sites: []growth.Site{site(l)}},
			sites:  map[symbolize.SiteID]describedSite{3: {key: siteKey{program: "/bin/x", group: "g"}}},
		}
	}
	all := []Process{process(verdict.Leak), process(verdict.Irregular), {}}
	key := siteKey{program: "/bin/x", group: "g"}
	require.Equal(t, 1, leaksIn(all, key))
	require.Zero(t, leaksIn(all, siteKey{program: "/bin/x", group: "h"}))
	s := site(verdict.Leak)
	require.Equal(t, "grew in 2 processes, by 5.00 MiB in all, and leaks in 1 of them; "+
		"chance of a leak: 96 % by this process alone, 98 % by all of them", pooled(&s, 1))
	require.NotContains(t, pooled(&s, 0), "leaks in")
	require.Empty(t, pooled(&growth.Site{}, 1))
}

// TestLeaksOfOtherProcesses: the table shows the sites of one process. A line below it tells of each site
// that leaks in another process only.
func TestLeaksOfOtherProcesses(t *testing.T) {
	site := func(id symbolize.SiteID, label verdict.Site, confidence float64) growth.Site {
		v := trend.Verdict{Label: label, Confidence: confidence}
		return growth.Site{Verdict: v, Gained: 2 << 20, Members: []symbolize.SiteID{id}}
	}
	other := Process{
		Process: series.Process{PID: 12},
		result:  &growth.Result{Sites: []growth.Site{site(1, verdict.Leak, 0.9), site(2, verdict.Leak, 0.78), site(3, verdict.Suspect, 0.4)}},
		sites: map[symbolize.SiteID]describedSite{
			1: {key: siteKey{line: 1}, heading: "seen a.py:1"}, 2: {key: siteKey{line: 2}, heading: "keep b.py:2"},
			3: {key: siteKey{line: 3}, heading: "may c.py:3"},
		},
	}
	third := other
	third.Process = series.Process{PID: 13}
	g := &Report{Series: &series.Series{}, Result: &growth.Result{}, Processes: []Process{{Shown: true}, other, third}}
	g.Flags = option.Flags{option.Process: "--process"}
	require.Equal(t, []string{
		"leaks in process 12: seen a.py:1, +2.00 MiB, chance of a leak: 90 %; --process 12 shows it",
		"leaks in process 12: keep b.py:2, +2.00 MiB, chance of a leak: 78 %; --process 12 shows it",
	}, g.elsewhere())
}
