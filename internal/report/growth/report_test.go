package growth_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
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

// TestTheFirstLineOfAnUndecidedSeriesNamesTheSuspect: a reader needs its name more than the number
// of suspects.
func TestTheFirstLineOfAnUndecidedSeriesNamesTheSuspect(t *testing.T) {
	g := liveOf(t).Report
	g.Result.Verdict, g.Result.Why = growth.VerdictUndecided, growth.SitesSuspect
	for i := range g.Result.Sites {
		if g.Result.Sites[i].Label.IsLeak() {
			g.Result.Sites[i].Label = trend.Suspect
		}
	}
	require.Equal(t, "UNDECIDED: leaky::remember<leaky::Request> leaky.cc:105 and 1 more site grow, but not clearly to the end", firstLine(t, g))
}

// TestGrowthOutsideTheHeapComesFirst: the heap of a Python process is flat while CPython's arenas
// grow.
func TestGrowthOutsideTheHeapComesFirst(t *testing.T) {
	g := liveOf(t).Report
	g.Symbols.Modules = append(g.Symbols.Modules, symbolize.Module{Path: "/usr/bin/python3.11"})
	g.Result.Verdict, g.Result.Why, g.Result.ProcessGrows = growth.VerdictNoLeak, growth.OnlyProcessGrows, true
	require.Contains(t, firstLine(t, g), "NO-LEAK: no site of the heap grows to the end of the series, but the process does: see the note; next: CPython keeps objects")
	var b bytes.Buffer
	require.NoError(t, g.JSON(&b))
	require.Contains(t, b.String(), `"next": "CPython keeps objects`)
}

// TestANarrowTerminalHasRoomForNames: it shows a shorter trend.
func TestANarrowTerminalHasRoomForNames(t *testing.T) {
	g := liveOf(t).Report
	for width, want := range map[int]bool{0: true, 200: true, 110: true, 80: false, 1: false} {
		g.Width = width
		var b bytes.Buffer
		require.NoError(t, g.Text(&b))
		require.Equal(t, want, strings.Contains(b.String(), "█"), "%d characters", width)
		require.Contains(t, b.String(), "leaky::remember<leaky::Request>  leaky.cc:105")
	}
}
