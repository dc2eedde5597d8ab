package growth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
)

// TestASeriesOfSuspectsIsDecided: what hardly leaks does not make a series undecided. Its chance is
// the confidence of the likeliest site.
func TestASeriesOfSuspectsIsDecided(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{LeakConfidence: 0.9999})
	require.Equal(t, growth.VerdictNoLeak, j.Verdict)
	require.Equal(t, growth.SitesSuspect, j.Why)
	require.Equal(t, 2, j.Suspects)
	require.Equal(t, "leaky::remember<leaky::Request>", j.blamed(*j.Likeliest))
	require.InDelta(t, j.Likeliest.Confidence, j.Chance, 0)
	require.Greater(t, j.Chance, trend.LeakConfidence)
}

// TestABusyMachine: two recordings of a program that works as fast as it can, on a machine that other
// processes keep busy. One leaks, one fills a cache.
func TestABusyMachine(t *testing.T) {
	leak := fixture(t, "real/busy_leak", "real/sysroot", growth.Options{})
	require.Equal(t, []string{"Ledger::post"}, leak.leaks())
	cache := fixture(t, "real/busy_cache", "real/sysroot", growth.Options{})
	require.Equal(t, growth.VerdictNoLeak, cache.Verdict)
	require.Less(t, cache.Chance, trend.SuspectConfidence)
}

// TestTheSnapshotOfTheExitIsNotJudged: nine tenths of the heap are freed there.
func TestTheSnapshotOfTheExitIsNotJudged(t *testing.T) {
	j := fixture(t, "real/exit_leak", "real/sysroot", growth.Options{})
	require.Equal(t, 1, j.AtExit)
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
	require.Equal(t, 1, j.AtExit)
	require.Equal(t, 22, j.Last)
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
	require.Equal(t, growth.NothingGrows, j.Why)
	require.Equal(t, []growth.Note{{Kind: growth.NoteProcessGrew, Bytes: 40 << 20}}, j.Notes)

	grows := withRSS(t, madeUp(t, 24, flat), 24, func(i int) int64 { return 20<<20 + 3<<20*int64(i) })
	j = judge(t, grows, "/nonexistent", growth.Options{})
	require.True(t, j.ProcessGrows, "%+v", j.Outside)
	require.Equal(t, growth.OnlyProcessGrows, j.Why)
	require.Equal(t, growth.VerdictNoLeak, j.Verdict)
	require.Equal(t, []growth.Note{{Kind: growth.NoteProcessGrows, Bytes: 69 << 20}}, j.Notes)
}

// TestManySmallSites: where the heap grows in sites that are too small to be judged, the series is
// undecided.
func TestManySmallSites(t *testing.T) {
	var list []site
	for k := range 40 {
		list = append(list, site{0x400100 + 0x100*k, func(i int) int { return 10<<10 + i*(20<<10) }})
	}
	dir := madeUp(t, 24, list...)
	j := judge(t, dir, "/nonexistent", growth.Options{GroupBy: "stack"})
	require.Equal(t, growth.VerdictUndecided, j.Verdict)
	require.Equal(t, growth.OnlySmallSitesGrow, j.Why)
	require.Equal(t, growth.VerdictLeak, judge(t, dir, "/nonexistent", growth.Options{GroupBy: "stack", MinBytes: 64 << 10}).Verdict)
}
