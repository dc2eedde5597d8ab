package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
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
