package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestPooledSite: a site that grew in two processes may be a leak in one of them.
func TestPooledSite(t *testing.T) {
	s := growth.Site{Pool: &growth.Pool{Confidence: 0.98, Own: 0.96, Processes: 2, Gained: 5 << 20}}
	require.Equal(t, "grew in 2 processes, by 5.00 MiB in all, and leaks in 1 of them; "+
		"chance of a leak: 96 % by this process alone, 98 % by all of them", pooled(&s, 1))
	require.NotContains(t, pooled(&s, 0), "leaks in")
	require.Empty(t, pooled(&growth.Site{}, 1))
}

// TestLeaksOfOtherProcesses: the table shows the sites of one process. A line below it tells of each site
// that leaks in another process only.
func TestLeaksOfOtherProcesses(t *testing.T) {
	site := func(id symbolize.SiteID, label verdict.Site, confidence float64) growth.Site {
		v := trend.Verdict{Label: label, Confidence: confidence, CanLeak: true}
		return growth.Site{Verdict: v, Gained: 2 << 20, Members: []symbolize.SiteID{id}}
	}
	result := &growth.Result{Sites: []growth.Site{site(1, verdict.Leak, 0.9), site(2, verdict.Leak, 0.78), site(3, verdict.Suspect, 0.4)}}
	process := func(pid int) Process {
		s := &series.Series{Process: series.Process{PID: pid}, Clock: series.Clock{At: []float64{0}}}
		judged := processes.Judge(s, result, func(s *growth.Site) processes.Key { return processes.Key{Line: int(s.Members[0])} })
		return Process{
			Judged: &judged,
			sites:  map[symbolize.SiteID]describedSite{1: {heading: "seen a.py:1"}, 2: {heading: "keep b.py:2"}, 3: {heading: "may c.py:3"}},
		}
	}
	g := &Report{
		Judged:    &pipeline.Judged{Series: &series.Series{}, Result: &growth.Result{}},
		Processes: []Process{{Judged: &processes.Judged{}, Shown: true}, process(12), process(13)},
	}
	require.Equal(t, []string{
		"leaks in process 12: seen a.py:1, +2.00 MiB, chance of a leak: 90 %; --process 12 shows it",
		"leaks in process 12: keep b.py:2, +2.00 MiB, chance of a leak: 78 %; --process 12 shows it",
	}, g.elsewhere())
}
