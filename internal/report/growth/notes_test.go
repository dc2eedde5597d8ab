package growth_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/growth/growthtest"
	"github.com/heaplapse/heaplapse/internal/report/text"
)

func TestGrowthReasons(t *testing.T) {
	for want, r := range map[string]growth.Result{
		"1 site grows to the end of the series": {Why: verdict.SitesLeak, Leaks: 1},
		"2 sites grow to the end of the series": {Why: verdict.SitesLeak, Leaks: 2},
		"1 site may leak":                       {Why: verdict.SitesSuspect, Suspects: 1},
		"2 sites may leak":                      {Why: verdict.SitesSuspect, Suspects: 2},
		"no single site may leak, but 7 sites together below one function may": {Why: verdict.CauseSuspect, Causes: []growth.Cause{{Sites: 7}}},
		"the heap grows, and truncated snapshots hide 3.00 MiB of it: record again with an engine that writes complete snapshots": {
			Why: verdict.GrowthHidden, HiddenBytes: 3 << 20,
		},
		"1 snapshot is too few for a trend: at least 6 are needed, 12 or more are better":       {Why: verdict.TooFewSnapshots},
		"3 snapshots are too few for a trend: at least 6 are needed, 12 or more are better":     {Why: verdict.TooFewSnapshots, Range: sites.Range{First: 1, Last: 3}},
		"the heap grows, but in sites that are too small to be judged one by one: see the note": {Why: verdict.OnlySmallSitesGrow},
		"no single site leaks, but 40 small sites grow together": {
			Why: verdict.CauseLeaks, Causes: []growth.Cause{{Site: growth.Site{Verdict: trend.Verdict{Label: verdict.Leak}}, Sites: 40, Small: true}},
		},
		"the heap grows, but no single site does":                                                      {Why: verdict.OnlyHeapGrows},
		"the recorded heap does not grow to the end of the series, but the process does: see the note": {Why: verdict.OnlyProcessGrows},
		"no allocation was recorded: the program has an allocator of its own, or allocates nothing":    {Why: verdict.NothingRecorded},
		"no site grows to the end of the series":                                                       {},
	} {
		require.Equal(t, want, r.Reason())
	}
}

// rangeOf returns a range by a letter for each snapshot: of those that are judged (j), requested out (r), of another
// image (i), empty (e), idle (d) and of the exit (x).
func rangeOf(letters string) (r sites.Range) {
	why := map[rune]sites.Why{
		'j': sites.Judged, 'r': sites.NotRequested, 'i': sites.OtherImage, 'e': sites.Empty, 'd': sites.Idle, 'x': sites.AtExit,
	}
	for _, l := range letters {
		r.Why = append(r.Why, why[l])
	}
	r.First, r.Last = strings.IndexByte(letters, 'j'), strings.LastIndexByte(letters, 'j')
	return r
}

func TestRangeNotes(t *testing.T) {
	require.Empty(t, growthreport.RangeNotes(rangeOf("jjjjjjj")))
	require.Equal(t, []string{"judged on snapshots 2 to 5 of 7, as requested"}, growthreport.RangeNotes(rangeOf("rjjjjrr")))
	require.Equal(t, []string{
		"judged on snapshots 1 to 4 of 7: one process image",
		"the last 2 snapshots were left out: the program exited then, and may have freed memory",
	}, growthreport.RangeNotes(rangeOf("jjxxiii")))
	require.Equal(t, []string{
		"the last snapshot was left out: the program exited then, and may have freed memory",
	}, growthreport.RangeNotes(rangeOf("jjjjjjx")))
	require.Equal(t, []string{
		"judged on snapshots 1 to 8 of 9, as requested",
		"snapshots 5 to 7 were left out: the process hardly ran after snapshot 4",
		"the last snapshot was left out: the program exited then, and may have freed memory",
	}, growthreport.RangeNotes(rangeOf("jjjjdddxr")))
	require.Equal(t, []string{
		"snapshot 1 was left out: the program allocated nothing until shortly before snapshot 2",
	}, growthreport.RangeNotes(rangeOf("ejjjjjjjj")))
}

func TestGrowthNotes(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Result.Notes = []growth.Note{
		{Kind: growth.NoteFewSnapshots, Snapshots: 8}, {Kind: growth.NoteNoAlloc}, {Kind: growth.NoteProcessGrows, Bytes: 11<<20 + 5}, {Kind: growth.NoteProcessGrew, Bytes: 12 << 20},
		{Kind: growth.NoteSilentEnd, Time: 33 * time.Second},
		{Kind: growth.NoteSilentEnd, Time: 34 * time.Second, Timed: true},
		{Kind: growth.NoteSilentEnd, Time: 35 * time.Second, Timed: true, Still: true},
	}
	var b bytes.Buffer
	require.NoError(t, g.Text(&b))
	require.Contains(t, b.String(), "note: only 8 snapshots: a filling cache may look like a leak; 12 or more are better\n")
	require.Contains(t, b.String(), "note: no cumulative counts: growth caused by higher load may look like a leak\n")
	require.Contains(t, b.String(), "note: the resident set grows to the end of the series, by 11.0 MiB more than the heap. ")
	require.Contains(t, b.String(), "note: the resident set grew by 12.0 MiB more than the heap, and has stopped. ")
	require.Contains(t, b.String(), "note: the program ran for 33s after the last snapshot, "+
		"and did not allocate enough for another one\n")
	require.Contains(t, b.String(), "note: the program ran for 34s after the last snapshot, "+
		"and took no other one, although a timer was due: it no longer called malloc, or could not write the file\n")
	require.Contains(t, b.String(), "note: the program worked for 35s after the last snapshot, "+
		"without another one and without growth: probably it no longer called malloc, and what grew before may have stopped; the built-in engine takes "+
		"snapshots of such a program\n")
}

// TestWhatMayBeMissed: that no leak is seen does not rule out slower ones. What would show them is told, too.
func TestWhatMayBeMissed(t *testing.T) {
	const note = "a leak of less than 3.52 MiB per hour may be missed: record for longer"
	g := growthtest.Leaky(t)
	g.Result.LeastRateSeen = 1 << 10
	require.NotContains(t, g.Notes(false), note, "there is a leak")
	g.Result.Verdict = verdict.SeriesNoLeak
	require.Equal(t, note, g.Notes(false)[0])

	last := g.Series.Heads[g.Result.Last]
	last.Format, last.Period = heapfile.FormatHeapV2, 128<<10
	require.Equal(t, note+", with more samples (--sample-period 64KiB)", g.Notes(false)[0])
	last.Period = 64 << 10
	require.Equal(t, note, g.Notes(false)[0])

	g.Result.LeastRateSeen = math.Inf(1)
	require.NotContains(t, strings.Join(g.Notes(false), "\n"), "may be missed", "no time has passed")
}

// TestWarningsGetAdvice: what to do is added to a warning.
func TestWarningsGetAdvice(t *testing.T) {
	s := &series.Series{Warnings: []heapfile.Warning{
		{Kind: heapfile.WarnManyProcesses, Count: 1, Msg: "several processes wrote snapshots"},
		{Kind: heapfile.WarnClock, Count: 1, Msg: "times are not known"},
	}}
	got := text.Advise(pipeline.AllWarnings(s))
	require.Equal(t, "several processes wrote snapshots (--process chooses another; heaplapse growth judges all)", got[0].Error())
	require.Equal(t, "times are not known", got[1].Error())
	require.Equal(t, "several processes wrote snapshots", s.Warnings[0].Msg, "the series is unchanged")
}
