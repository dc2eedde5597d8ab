package growth_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// TestASeriesOfSuspectsIsUndecided, although no data are missing. Its chance is the confidence of the
// likeliest site.
func TestASeriesOfSuspectsIsUndecided(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{LeakConfidence: 0.9999})
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
	require.Equal(t, verdict.SitesSuspect, j.Why)
	require.False(t, j.Why.DataMissing())
	require.Equal(t, 2, j.Suspects)
	require.Equal(t, "leaky::remember<leaky::Request>", j.blamed(*j.Likeliest))
	require.InDelta(t, j.Likeliest.Confidence, j.Chance, 0)
	require.Greater(t, j.Chance, trend.LeakConfidence)
}

// TestSmallSitesThatMayLeak: of sites that each grow too little to be judged, what their sum shows is the answer, also if
// that is not sure.
func TestSmallSitesThatMayLeak(t *testing.T) {
	var small []site
	for k := range 8 {
		small = append(small, site{0x400100 + k*0x100, func(i int) int { return 1<<14 + i*(12<<10) + (i*i*7919+k*104729)%(8<<10) }})
	}
	for leakAt, want := range map[float64]verdict.Reason{0: verdict.CauseLeaks, 0.9999: verdict.OnlySmallSitesGrow} {
		j := judge(t, madeUp(t, 24, small...), "/nonexistent", growth.Options{LeakConfidence: leakAt})
		if leakAt > 0 {
			require.Equal(t, verdict.Suspect, j.Total.Label)
			require.Equal(t, verdict.SeriesUndecided, j.Verdict)
			require.InDelta(t, j.Total.Confidence, j.Chance, 0.02)
		}
		require.Equal(t, want, j.Why, "%v", j.Total)
	}
}

// TestABusyMachine: two recordings of a program that works as fast as it can, on a machine that other
// processes keep busy. One leaks, one fills a cache.
func TestABusyMachine(t *testing.T) {
	leak := fixture(t, "real/busy_leak", "real/sysroot", growth.Options{})
	require.Equal(t, []string{"Ledger::post"}, leak.leaks())
	cache := fixture(t, "real/busy_cache", "real/sysroot", growth.Options{})
	require.Equal(t, verdict.SeriesNoLeak, cache.Verdict)
	require.Less(t, cache.Chance, trend.SuspectConfidence)
}

// TestTheSnapshotOfTheExitIsNotJudged: nine tenths of the heap are freed there.
func TestTheSnapshotOfTheExitIsNotJudged(t *testing.T) {
	j := fixture(t, "real/exit_leak", "real/sysroot", growth.Options{})
	require.Equal(t, 1, j.Count(sites.AtExit))
	require.Equal(t, len(j.series.Heads)-2, j.Last)
	require.Equal(t, []string{"Ledger::post"}, j.leaks())
}

// TestTheManifestKnowsTheExit: a program that frees a tenth of its heap before it exits does not look
// as if it did.
func TestTheManifestKnowsTheExit(t *testing.T) {
	dir := madeUp(t, 24, site{0x400100, func(i int) int { return 1<<20 + min(i, 22)*(1<<18) - max(0, i-22)*(1<<19) }})
	var text strings.Builder
	fmt.Fprintf(&text, "{\"schema\":%q}\n", manifest.Schema)
	for i := range 24 {
		trigger := "time"
		if i == 23 {
			trigger = "exit"
		}
		fmt.Fprintf(&text, `{"snapshot":{"file":"p.%04d.heap","time":"2026-01-02T03:%02d:00Z","pid":1,"trigger":%q}}`+"\n", i+1, i, trigger)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text.String()), 0o600))
	j := judge(t, dir, "/nonexistent", growth.Options{})
	require.Equal(t, 1, j.Count(sites.AtExit))
	require.Equal(t, 22, j.Last)
}

// TestAProgramThatHandlesSIGTERM: what it allocates while it shuts down for some seconds is no leak, if the recorder
// asked for that. If it then ran on for longer than before, it did not shut down.
func TestAProgramThatHandlesSIGTERM(t *testing.T) {
	written := site{0x400100, func(i int) int { return 1<<20 + max(0, i-15)*(2<<20) }}
	for name, c := range map[string]struct {
		asked string
		exits int
	}{
		"not asked":    {"", 0},
		"asked":        {`,"asked":"2026-01-02T03:15:30Z"`, 8},
		"it ran on":    {`,"asked":"2026-01-02T03:05:30Z"`, 0},
		"at the start": {`,"asked":"2026-01-02T02:59:59Z"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := withRSS(t, madeUp(t, 24, written), 24, func(int) int64 { return 80 << 20 })
			f, err := os.OpenFile(filepath.Join(dir, manifest.Name), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = fmt.Fprintf(f, `{"end":{"pid":1,"time":"2026-01-02T03:24:00Z","status":0%s}}`+"\n", c.asked)
			require.NoError(t, errors.Join(err, f.Close()))
			j := judge(t, dir, "/nonexistent", growth.Options{})
			require.Equal(t, c.exits, j.Count(sites.AtExit))
			require.Equal(t, c.exits > 0, j.Verdict == verdict.SeriesNoLeak, "%v", j.Total)
		})
	}
}

// withRSS adds a manifest with resident sets to a made-up series.
func withRSS(t *testing.T, dir string, n int, rss func(i int) int64) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "{\"schema\":%q}\n", manifest.Schema)
	for i := range n {
		fmt.Fprintf(&text, `{"snapshot":{"file":"p.%04d.heap","time":"2026-01-02T03:%02d:00Z","pid":1,"trigger":"time","rss_bytes":%d}}`+"\n", i+1, i, rss(i))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text.String()), 0o600))
	return dir
}

// TestTheResidentSetIsJudgedAsASeries: a process that grew while it started does not grow to the end.
func TestTheResidentSetIsJudgedAsASeries(t *testing.T) {
	flat := site{0x400100, func(int) int { return 5 << 20 }}
	started := withRSS(t, madeUp(t, 24, flat), 24, func(i int) int64 { return 20<<20 + 40<<20*int64(min(i, 2))/2 })
	j := judge(t, started, "/nonexistent", growth.Options{})
	require.False(t, j.ProcessGrows)
	require.Equal(t, verdict.NothingGrows, j.Why)
	require.Equal(t, []growth.Note{{Kind: growth.NoteProcessGrew, Bytes: 40 << 20}}, j.Notes)

	grows := withRSS(t, madeUp(t, 24, flat), 24, func(i int) int64 { return 20<<20 + 3<<20*int64(i) })
	j = judge(t, grows, "/nonexistent", growth.Options{})
	require.True(t, j.ProcessGrows, "%+v", j.Outside)
	require.Equal(t, verdict.OnlyProcessGrows, j.Why)
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
	require.Equal(t, []growth.Note{{Kind: growth.NoteProcessGrows, Bytes: 69 << 20}}, j.Notes)
}

// TestAFallingHeap: no site leaks, and no module is imported.
func TestAFallingHeap(t *testing.T) {
	dir := madeUp(t, 12, site{0x400100, func(i int) int { return (20 - i) << 20 }})
	result := judge(t, dir, "/nonexistent", growth.Options{})
	require.Equal(t, verdict.SeriesNoLeak, result.Verdict)
}

// TestManySmallSites: where the heap grows in sites that are too small to be judged, their sum is, and
// decides. What the options list does not matter.
func TestManySmallSites(t *testing.T) {
	var list []site
	for k := range 40 {
		list = append(list, site{0x400100 + 0x100*k, func(i int) int { return 10<<10 + i*(20<<10) }})
	}
	dir := madeUp(t, 24, list...)
	for _, all := range []bool{false, true} {
		j := judge(t, dir, "/nonexistent", growth.Options{GroupBy: "stack", All: all})
		require.Equal(t, verdict.SeriesLeak, j.Verdict)
		require.Equal(t, verdict.CauseLeaks, j.Why)
		require.Zero(t, j.Leaks)
		require.Len(t, j.Causes, 1)
		require.True(t, j.Causes[0].Small)
		require.Equal(t, 40, j.Causes[0].Sites)
		require.Equal(t, j.LastHeap-j.FirstHeap, j.Causes[0].Gained)
		require.InDelta(t, j.Causes[0].Confidence, j.Chance, 0)
	}
	require.Equal(t, verdict.SeriesLeak, judge(t, dir, "/nonexistent", growth.Options{GroupBy: "stack", MinBytes: 64 << 10}).Verdict)
}

// TestAllocationsThatMoveToAnotherCallPath: a cache is used through another caller from some moment on, as when
// V8 compiles a function into its caller. What one call path gains the other loses.
func TestAllocationsThatMoveToAnotherCallPath(t *testing.T) {
	const full, moves = 4 << 20, 20
	before := site{0x400100, func(i int) int { return max(64<<10, min(i+1, 2*moves-i)*full/moves) }}
	after := site{0x400200, func(i int) int { return max(0, min(i-moves, 20)) * full / 20 }}
	leaks := func(sites ...site) []string {
		return judge(t, madeUp(t, 40, sites...), "/nonexistent", growth.Options{GroupBy: "module"}).leaks()
	}
	require.NotEmpty(t, leaks(after), "the second call path alone looks like a leak")
	require.Empty(t, leaks(before, after))
	kept := site{before.addr, func(i int) int { return min(i+1, moves) * full / moves }}
	require.NotEmpty(t, leaks(kept, after), "nothing moved: the first call path keeps what it has")
}

// TestProcessorTimeIsWorkWithoutCounts: a process leaks with each request, and gets less and less processor time. Its
// snapshots have no cumulative counts. The processor time in the manifest shows that the leak does not slow down.
func TestProcessorTimeIsWorkWithoutCounts(t *testing.T) {
	chance := func(field string) float64 {
		dir, lines := t.TempDir(), fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema)
		for i := range 30 {
			done := 1 - math.Exp(-float64(i)/12)
			bytes := 5<<20 + int(20e6*done) + i%3*20_000
			row := fmt.Sprintf("%d: %d [0: 0]", bytes/1000, bytes)
			text := fmt.Sprintf("heap_v2/1\n  t*: %s\n  t0: %s\n@ 0x400100 0x400999\n  t*: %s\n  t0: %s\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1    /nonexistent/program\n",
				row, row, row, row)
			name := fmt.Sprintf("p.7.%d.i%d.heap", i, i)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			lines += fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-02T03:%02d:00Z","pid":7,"trigger":"time",%q:%d}}`+"\n",
				name, i, field, int64(1e9*(1+100*done)))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(lines), 0o600))
		j := judge(t, dir, "/nonexistent", growth.Options{})
		require.Contains(t, j.Notes, growth.Note{Kind: growth.NoteNoAlloc})
		return j.Chance
	}
	byTime, byWork := chance("of_no_meaning"), chance("cpu_ns")
	require.Greater(t, byWork, byTime+0.2, "%f", byTime)
}

// TestWhatIsFreedMayStayResident: the resident set stays as it is while the heap shrinks; only the difference grows.
func TestWhatIsFreedMayStayResident(t *testing.T) {
	freed := site{0x400100, func(i int) int { return 40<<20 - i*(36<<20)/47 }}
	j := judge(t, withRSS(t, madeUp(t, 48, freed), 48, func(int) int64 { return 50 << 20 }), "/nonexistent", growth.Options{})
	require.True(t, j.Outside.Label.IsLeak(), "%+v", j.Outside)
	require.False(t, j.ProcessGrows)
	require.Equal(t, verdict.SeriesNoLeak, j.Verdict, j.Why)
}

// TestFreedBeforeTheResidentSetWasRead: the last size of a process that exits does not count if it is smaller than the
// heap. Where the heap is larger all the time, as an estimate may be, it does.
func TestFreedBeforeTheResidentSetWasRead(t *testing.T) {
	for _, c := range []struct{ beyond, want int64 }{{10 << 20, 52 << 20}, {-1 << 20, 13 << 20}} {
		dir := madeUp(t, 24, site{0x400100, func(i int) int { return (20 + i) << 20 }})
		result := judge(t, withRSS(t, dir, 24, func(i int) int64 {
			if i == 23 {
				return 13 << 20
			}
			return int64(20+i)<<20 + c.beyond
		}), "/nonexistent", growth.Options{})
		require.Equal(t, c.want, result.LastRSS)
	}
}
