package growth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/filename"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// liveOf is the leaky series with a manifest that has its process and resident set.
func liveOf(t *testing.T) *growthreport.Live {
	t.Helper()
	dir := t.TempDir()
	paths, err := filepath.Glob(testutil.Data(t, "leaky/*.heap.gz"))
	require.NoError(t, err)
	text := fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema) + `{"process":{"pid":7,"started":"2026-01-02T03:00:00Z","command":["leaky","名前\u001b[2J"]}}` + "\n"
	for i, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(p)), data, 0o600))
		text += fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-02T03:%02d:00Z","pid":7,"rss_bytes":%d}}`+"\n",
			filename.TrimCompression(filepath.Base(p)), i, (30+i)<<20)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text), 0o600))
	var columns sites.Collector
	s, err := series.Open([]string{dir}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")})
	require.NoError(t, err)
	result := growth.Judge(s, symbols, &columns, growth.Options{MinBytes: 1 << 20})
	return &growthreport.Live{Report: &growthreport.Report{Series: s, Symbols: symbols, Result: result}, Path: "/tmp/heap", Warnings: 2}
}

// TestScreenFitsEveryTerminal: the lines fit a terminal of any size, and a large one shows
// everything.
func TestScreenFitsEveryTerminal(t *testing.T) {
	l := liveOf(t)
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
	l := liveOf(t)
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
		liveOf(t).Line())
}

// TestALeakingCauseThatIsNotTheLargest: the verdict is about the cause that leaks, even if no single
// site is listed.
func TestALeakingCauseThatIsNotTheLargest(t *testing.T) {
	l := liveOf(t)
	largest, leak := growth.Cause{Site: l.Result.Sites[0], Sites: 40}, growth.Cause{Site: l.Result.Sites[1], Sites: 30}
	largest.Label, leak.Label, leak.Confidence = verdict.Suspect, verdict.Leak, 0.7
	l.Result.Causes, l.Result.LeakingCauses = []growth.Cause{largest, leak}, 1
	l.Result.Sites, l.Result.Leaks, l.Result.Verdict, l.Result.Why = nil, 0, verdict.SeriesLeak, verdict.CauseLeaks
	require.Contains(t, l.Line(), "  leak 70%   "+l.DescribeCause(&leak).Heading()+"  ")
	require.Contains(t, l.Result.Reason(), "but 30 sites grow together below one function")
	require.Contains(t, l.Finding(), ", 30 sites")
}

// TestScreenDoesNotChangeTheReport: Text writes the same before and after a narrow screen.
func TestScreenDoesNotChangeTheReport(t *testing.T) {
	l := liveOf(t)
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
			before, now := liveOf(t), liveOf(t)
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
