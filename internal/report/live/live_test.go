package live_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/report/growth/growthtest"
	"github.com/heaplapse/heaplapse/internal/report/live"
)

// leaky is the report on the leaky series while it is written.
func leaky(t *testing.T) *live.Report {
	t.Helper()
	return &live.Report{Report: growthtest.Leaky(t), Path: "/tmp/heap", Warnings: 2}
}

// TestScreenFitsEveryTerminal: the lines fit a terminal of any size, and a large one shows
// everything.
func TestScreenFitsEveryTerminal(t *testing.T) {
	l := leaky(t)
	now := time.Date(2026, 1, 2, 3, 24, 0, 0, time.UTC)
	for width := 1; width <= 200; width += 7 {
		for height := 1; height <= 60; height += 3 {
			lines := l.Screen(width, height, now)
			require.LessOrEqual(t, len(lines), height, "%d×%d", width, height)
			for _, line := range lines {
				require.LessOrEqual(t, uniseg.StringWidth(line.Text), width, "%d×%d: %q", width, height, line.Text)
				require.NotContains(t, line.Text, "\x1b", "names are hostile")
			}
		}
	}
	lines := l.Screen(200, 60, now)
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line.Text + "\n")
	}
	for _, want := range []string{
		"heaplapse watch /tmp/heap · 7 (leaky 名前 [2J)\nthe last snapshot is 1m old\n\nLEAK: ", "RSS   ", "53.0 MiB, 41 % of it heap\n",
		"leaky::remember<leaky::Request>  leaky.cc:105\n", "^C stops · 2 warnings: heaplapse info /tmp/heap\n",
	} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "…", "there is room for everything")
}

// TestALowScreenShowsSites before what is said about them.
func TestALowScreenShowsSites(t *testing.T) {
	l := leaky(t)
	for height, callers := range map[int]int{18: 0, 19: 1, 24: 3} {
		var text strings.Builder
		for _, line := range l.Screen(80, height, time.Date(2026, 1, 2, 3, 24, 0, 0, time.UTC)) {
			text.WriteString(line.Text + "\n")
		}
		require.Contains(t, text.String(), "geom::TileCache::render", "%d lines", height)
		require.Equal(t, callers, strings.Count(text.String(), "     ← "), "%d lines: %s", height, text.String())
	}
}

func TestLineOfAMoment(t *testing.T) {
	require.Regexp(t, `^2026-01-02T03:23:00Z  24 snapshots  heap 21\.6 MiB  RSS 53\.0 MiB  leak [0-9]+%   leaky::remember<leaky::Request> leaky\.cc:105  \+5\.83 MiB  \+[0-9.]+ MiB per hour$`,
		leaky(t).Line())
}

// TestALeakingCauseThatIsNotTheLargest: the verdict is about the cause that leaks, even if no single
// site is listed.
func TestALeakingCauseThatIsNotTheLargest(t *testing.T) {
	l := leaky(t)
	largest, leak := growth.Cause{Site: l.Result.Sites[0], Sites: 40}, growth.Cause{Site: l.Result.Sites[1], Sites: 30}
	largest.Label, leak.Label, leak.Confidence = verdict.Suspect, verdict.Leak, 0.7
	l.Result.Causes, l.Result.LeakingCauses = []growth.Cause{largest, leak}, 1
	l.Result.Sites, l.Result.Leaks, l.Result.Verdict, l.Result.Why = nil, 0, verdict.SeriesLeak, verdict.CauseLeaks
	require.Contains(t, l.Line(), "  leak 70%   "+l.DescribeCause(&leak).Heading()+"  ")
	require.Contains(t, l.Result.Reason(), "but 30 sites grow together below one function")
	require.Contains(t, l.Finding(), ", in 30 sites")
}

// TestScreenDoesNotChangeTheReport: Text writes the same before and after a narrow screen.
func TestScreenDoesNotChangeTheReport(t *testing.T) {
	l := leaky(t)
	var before, after strings.Builder
	require.NoError(t, l.Text(&before))
	l.Screen(40, 10, time.Now())
	require.NoError(t, l.Text(&after))
	require.Equal(t, before.String(), after.String())
}

// TestTheFirstSiteOfTheScreenStays: another site takes its place if it grows clearly faster, or has a worse
// verdict.
func TestTheFirstSiteOfTheScreenStays(t *testing.T) {
	for _, c := range []struct {
		name  string
		label verdict.Site
		speed float64 // of the new first site, relative to that of the screen before
		stays bool
	}{
		{"a little faster", verdict.Leak, 1.1, true},
		{"clearly faster", verdict.Leak, 2, false},
		{"another verdict", verdict.Suspect, 1.1, false},
		{"a late leak", verdict.LeakLate, 1.1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, now := leaky(t), leaky(t)
			first, list := before.Result.Sites[0], now.Result.Sites
			list[0].Label, list[0].Confidence, list[0].Low = c.label, 0.9, 1000
			list[1].Label, list[1].Confidence, list[1].Low = verdict.Leak, 0.9, 1000*c.speed
			list[0], list[1] = list[1], list[0]
			second := now.Describe(&list[0]).Name
			now.KeepFirst(nil)
			require.Equal(t, second, now.Describe(&list[0]).Name)
			now.KeepFirst(before)
			require.Equal(t, c.stays, now.Describe(&list[0]).Name == before.Describe(&first).Name)
			require.Len(t, now.Result.Sites, len(before.Result.Sites))
		})
	}
}
