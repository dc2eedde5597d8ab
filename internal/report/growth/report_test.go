package growth_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/holders/rss"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/growth/growthtest"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/symbolize"
)

// firstLine is the first line of the text.
func firstLine(t *testing.T, g *growthreport.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, g.Text(&b))
	line, _, _ := strings.Cut(b.String(), "\n")
	return line
}

// TestTheFirstLineNamesTheSuspect: a reader needs its name more than the number
// of suspects.
func TestTheFirstLineNamesTheSuspect(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Result.Verdict, g.Result.Why = verdict.SeriesUndecided, verdict.SitesSuspect
	g.Result.Chance = 0.41
	for i := range g.Result.Sites {
		if g.Result.Sites[i].Label.IsLeak() {
			g.Result.Sites[i].Label = verdict.Suspect
		}
	}
	require.Equal(t, "UNDECIDED: leaky::remember<leaky::Request> leaky.cc:105 and 1 more site may leak; chance of a leak: 41 %; next: record for longer", firstLine(t, g))
}

// TestALoadThatEndedIsJudgedByItself: a longer recording of a process without work shows nothing.
func TestALoadThatEndedIsJudgedByItself(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Result.Verdict, g.Result.Why = verdict.SeriesUndecided, verdict.SitesSuspect
	for i := range g.Series.Heads {
		worked := int64(min(i, 10)) * int64(time.Second)
		g.Series.CPU = append(g.Series.CPU[:i:i], &worked)
	}
	const advice = "the process hardly ran after snapshot 11: judge the time before (--until 11)"
	require.Equal(t, advice, g.Next())
	require.NotContains(t, g.Notes(false), advice, "the first line has it")

	g.Result.Verdict, g.Result.Why = verdict.SeriesNoLeak, verdict.NothingGrows
	g.Result.LargestStable = &g.Result.Sites[0]
	require.Contains(t, g.Notes(false), advice)
	require.Contains(t, g.Notes(false), "leaky::remember<leaky::Request> leaky.cc:105 grew most, by 5.83 MiB, "+
		"but not long or steadily enough to be called a leak")
	bytes := g.Result.LargestStable.Bytes
	for i := len(bytes) / 2; i < len(bytes); i++ {
		bytes[i] = bytes[len(bytes)-1]
	}
	require.Contains(t, g.Notes(false), "leaky::remember<leaky::Request> leaky.cc:105 grew most, by 5.83 MiB, "+
		"but most of it in the first 60 % of the time, like a cache that is full")
	g.Processes = []growthreport.Process{g.OwnProcess(), g.OwnProcess()}
	require.Contains(t, strings.Join(g.Notes(false), "\n"), "judge the time before (--process 7 --until 11)",
		"the numbers are those of the snapshots of one process")

	g.Result.Verdict, g.Result.Why, g.Result.LargestStable = verdict.SeriesLeak, verdict.SitesLeak, nil
	require.NotContains(t, strings.Join(g.Notes(false), "\n"), "hardly ran", "the verdict does not need it")
}

// TestNotesSeeBelow: where the resident memory was is below in forms that a person reads, and nowhere else.
func TestNotesSeeBelow(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Result.Notes = []growth.Note{{Kind: growth.NoteProcessGrows, Bytes: 60 << 20}}
	g.Result.LastRSS = 4 * g.Result.LastHeap
	g.Resident = &rss.Result{PID: 7, Program: "server", Bytes: g.Result.LastRSS, Kernel: g.Result.LastRSS}
	var text, markdown bytes.Buffer
	require.NoError(t, g.Text(&text))
	require.Contains(t, text.String(), "; see below where the resident memory was\n")
	require.Contains(t, text.String(), "where the resident memory was when the recorder looked last, as of ")
	require.NoError(t, g.Markdown(&markdown))
	require.Contains(t, markdown.String(), "; see below where the resident memory was\n")
	require.Contains(t, markdown.String(), "\n    RSS ")
	require.Contains(t, strings.Join(g.Notes(false), "\n"), "in order of likelihood")
}

// TestGrowthOutsideTheHeapComesFirst: the heap of a Python process is flat while CPython's arenas
// grow.
func TestGrowthOutsideTheHeapComesFirst(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Symbols.Modules = append(g.Symbols.Modules, symbolize.Module{Path: "/usr/bin/python3.11"})
	g.Result.Verdict, g.Result.Why, g.Result.ProcessGrows = verdict.SeriesUndecided, verdict.OnlyProcessGrows, true
	g.Result.Chance = 0.001
	require.Contains(t, firstLine(t, g), "UNDECIDED: the recorded heap does not grow to the end of the series, but the process does: see the note; next: CPython keeps objects")
	var b bytes.Buffer
	require.NoError(t, g.JSON(&b))
	require.Contains(t, b.String(), `"next": "CPython keeps objects`)
}

// TestNoAdviceToDoWhatWasDone: a recording of CPython with PYTHONMALLOC=malloc has no arenas.
func TestNoAdviceToDoWhatWasDone(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Symbols.Modules = append(g.Symbols.Modules, symbolize.Module{Path: "/usr/bin/python3.11"})
	g.Result.Verdict, g.Result.Why, g.Result.ProcessGrows = verdict.SeriesUndecided, verdict.OnlyProcessGrows, true
	require.Contains(t, g.Next(), "PYTHONMALLOC=malloc")
	g.Series.Manifest = &manifest.Manifest{Recording: &manifest.Recording{Settings: map[string]string{"PYTHONMALLOC": "malloc"}}}
	require.Empty(t, g.Next())
}

// TestOneChanceOfASite: the first line, the table and the explanation show the same chance of a site.
func TestOneChanceOfASite(t *testing.T) {
	for confidence, want := range map[float64][2]string{
		0.999: {"leak >99%", "over 99 % of simulated sites"}, 0.914: {"leak 91%", "91 % of simulated sites"},
	} {
		g := growthtest.Leaky(t)
		g.Result.Sites[0].Confidence, g.Result.Chance = confidence, confidence
		var b bytes.Buffer
		require.NoError(t, g.Text(&b))
		require.Regexp(t, `  1  `+want[0]+` `, b.String())
		require.Regexp(t, `chance of a leak: (over 99|91) %(;|\n)`, b.String())
		g.Result.Chance = confidence + 0.05
		g.Explain = "1"
		b.Reset()
		require.NoError(t, g.Text(&b))
		require.Contains(t, b.String(), want[1])
		require.Equal(t, 1, strings.Count(b.String(), "chance of a leak: "), "that of this site is in its row")
	}
}

// TestASlowerLeakIsToldApart: a cache that fills may be called a leak, but it slows down.
func TestASlowerLeakIsToldApart(t *testing.T) {
	const told = "it grows more slowly at the end, at %d %% of its mean rate: a cache that fills does so, too"
	for tail, percent := range map[float64]int{0.4: 40, -0.1: 0, 0.9: -1} {
		g := growthtest.Leaky(t)
		g.Result.Sites[0].Features[trend.FeatureTail] = tail
		var b bytes.Buffer
		require.NoError(t, g.Text(&b))
		require.Equal(t, percent >= 0, strings.Contains(b.String(), fmt.Sprintf(told, percent)), b.String())
	}
}

// TestOneResizeIsNoGrowingContainer: a table that became larger once may have its final size.
func TestOneResizeIsNoGrowingContainer(t *testing.T) {
	push := symbolize.Frame{Function: "std::vector<int, std::allocator<int> >::push_back"}
	v := siteview.OfRun(&baseline.Site{Frames: []symbolize.Frame{push}}, 1)
	for _, c := range []struct {
		sizes  []int64
		advice string
	}{
		{[]int64{8, 16, 16, 16}, ""},
		{[]int64{8, 16, 16, 32}, "container grows"},
		{[]int64{8, 4, 8, 4}, ""},
	} {
		g := growthreport.Report{Judged: &pipeline.Judged{Result: &growth.Result{Range: sites.Range{Last: len(c.sizes) - 1}}}}
		site := growth.Site{Bytes: c.sizes, Visible: []bool{true, true, true, true}}
		if advice := g.Advice(&site, v); c.advice == "" {
			require.Empty(t, advice, c.sizes)
		} else {
			require.Contains(t, advice, c.advice, c.sizes)
		}
	}
}

// TestANarrowTerminalHasRoomForNames: it shows a shorter trend, and every line below the summary
// fits.
func TestANarrowTerminalHasRoomForNames(t *testing.T) {
	g := growthtest.Leaky(t)
	for width, want := range map[int]bool{0: true, 200: true, 110: true, 80: false, 1: false} {
		g.Width = width
		var b bytes.Buffer
		require.NoError(t, g.Text(&b))
		require.Equal(t, want, strings.Contains(b.String(), "█"), "%d characters", width)
		require.Regexp(t, `leaky::remember<leaky::Request>\s+leaky.cc:105`, b.String())
		_, table, _ := strings.Cut(b.String(), "\n\n")
		table, _, _ = strings.Cut(table, "\nnote: ") // the command wraps notes
		for line := range strings.Lines(table) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), cmp.Or(max(width, 64*min(width, 1)), 160), "%d: %s", width, line)
		}
	}
}

// TestAnExplanationOfASiteWithoutNoise: the text does not compare the growth with a noise of 0 B.
func TestAnExplanationOfASiteWithoutNoise(t *testing.T) {
	g := growthtest.Leaky(t)
	g.Explain = "1"
	for sigma, want := range map[float64]string{
		0:          "it does not vary around the trend\n",
		1 << 20:    "it varies by 1.00 MiB around the trend; the growth is 2.5 times that\n",
		0.1 * 1024: "it varies by 102 B around the trend; the growth is 2.5 times that\n",
	} {
		g.Result.Sites[0].Sigma = sigma
		g.Result.Sites[0].Features[trend.FeatureClarity] = 2.5
		var b bytes.Buffer
		require.NoError(t, g.Text(&b))
		require.Contains(t, b.String(), want)
	}
}

// TestMarkdownOfACause: the name of the site with most of a cause is escaped, too.
func TestMarkdownOfACause(t *testing.T) {
	g := growthtest.Leaky(t)
	cause := growth.Cause{Site: g.Result.Sites[0], Sites: 3}
	g.Result.Causes, g.Result.LeakingCauses, g.Result.Why = []growth.Cause{cause}, 1, verdict.CauseLeaks
	var b bytes.Buffer
	require.NoError(t, g.Markdown(&b))
	require.Contains(t, b.String(), "in 3 sites, most in leaky&#58;&#58;remember&#60;leaky&#58;&#58;Request&#62; leaky.cc:105.")
}
