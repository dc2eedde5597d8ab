package growth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/suppress"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

type judged struct {
	series  *series.Series
	symbols *symbolize.Symbols
	*growth.Result
}

func judge(t *testing.T, path, sysroot string, o growth.Options) judged {
	t.Helper()
	var columns sites.Collector
	s, err := series.Open([]string{path}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: sysroot})
	require.NoError(t, err)
	return judged{s, symbols, growth.Judge(s, symbols, &columns, o)}
}

func fixture(t *testing.T, name, sysroot string, o growth.Options) judged {
	t.Helper()
	return judge(t, testutil.Data(t, name), testutil.Data(t, sysroot), o)
}

// blamed is the function that a site is attributed to.
func (j judged) blamed(s growth.Site) string {
	stack := j.symbols.Stack(j.symbols.SiteStack(s.Members[0]))
	if len(stack) == 0 {
		return ""
	}
	l := &j.symbols.Locations[stack[s.Blame.Position]]
	if s.Blame.Frame < 0 {
		return j.symbols.Label(l)
	}
	return l.Frames[s.Blame.Frame].Function
}

func (j judged) leaks() (names []string) {
	for _, s := range j.Sites {
		if s.Label.IsLeak() {
			names = append(names, j.blamed(s))
		}
	}
	return names
}

func TestOnlyTheTwoLeaksAreCalledLeaks(t *testing.T) {
	for _, name := range []string{"leaky", "leaky-jemalloc"} {
		j := fixture(t, name, "leaky/sysroot", growth.Options{})
		require.Equal(t, verdict.SeriesLeak, j.Verdict)
		require.Equal(t, []string{"leaky::remember<leaky::Request>", "plugin::Tracker::record"}, j.leaks(), name)
		for i, s := range j.Sites {
			require.Equal(t, i < 2, s.Label.IsLeak(), "leaks are ranked first")
		}
	}
}

// TestRatesAreTrue compares with the rates of the leaks in testdata/README.md.
func TestRatesAreTrue(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{})
	require.InEpsilon(t, 130*1024, j.Sites[0].Slope, 0.02)
	require.InEpsilon(t, 40*1024, j.Sites[1].Slope, 0.03)
	sampled := fixture(t, "leaky-jemalloc", "leaky/sysroot", growth.Options{})
	require.InEpsilon(t, 130*1024, sampled.Sites[0].Slope, 0.1)
}

func TestCacheAndChurnAreNotLeaks(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{All: true})
	labels := map[string]verdict.Site{}
	for _, s := range j.Sites {
		labels[j.blamed(s)] = s.Label
	}
	require.Equal(t, verdict.Plateaued, labels["geom::TileCache::render"])
	require.Equal(t, verdict.Stable, labels["leaky::Encoder::encode"])
	require.Contains(t, []verdict.Site{verdict.Stable, verdict.GrewThenFlat, verdict.Plateaued}, labels["geom::mesh::Projection::warm"])
}

// TestTruncatedValuesAreHiddenNotZero: the leak starts after the first truncated snapshots. In
// these it is hidden, not 0.
func TestTruncatedValuesAreHiddenNotZero(t *testing.T) {
	j := fixture(t, "python", "python/sysroot", growth.Options{})
	require.Equal(t, []string{"ffi_call"}, j.leaks())
	leak := j.Sites[0]
	require.True(t, leak.Visible[0], "the first snapshot is complete: the site is absent there, so it is 0")
	require.Zero(t, leak.Bytes[0])
	require.False(t, leak.Visible[1], "the second snapshot is truncated: an absent site may exist")
}

func TestNodeBuffersAreAttributedToTheirJavaScriptFunction(t *testing.T) {
	j := fixture(t, "node", "node/sysroot", growth.Options{})
	require.Equal(t, []string{"leakBuffers"}, j.leaks(), "code that moves between the tiers of the compiler is no leak")
}

func TestRestartIsJudgedOnOneImage(t *testing.T) {
	j := fixture(t, "dialects/restart", "", growth.Options{})
	require.Equal(t, []int{0, 3, 7, 3}, []int{j.First, j.Last, j.Of(), j.Count(sites.OtherImage)})
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
}

func TestNoteAboutFewSnapshots(t *testing.T) {
	few := fixture(t, "leaky", "leaky/sysroot", growth.Options{To: 9})
	require.Contains(t, few.Notes, growth.Note{Kind: growth.NoteFewSnapshots, Snapshots: 9})
	many := fixture(t, "leaky", "leaky/sysroot", growth.Options{To: growth.GoodPoints})
	require.Empty(t, many.Notes)
}

func TestSnapshotAtExitIsLeftOut(t *testing.T) {
	j := fixture(t, "dialects/exit", "leaky/sysroot", growth.Options{})
	require.Equal(t, len(j.series.Heads)-2, j.Last)
	require.Equal(t, 1, j.Count(sites.AtExit))
}

func TestRecordHighsAreNotALeak(t *testing.T) {
	j := fixture(t, "dialects/highwater", "", growth.Options{MinBytes: 100 << 10})
	for _, s := range j.Sites {
		require.Less(t, s.Confidence, 0.75, "%s is called %s", j.blamed(s), s.Label)
	}
}

func TestFocusAndIgnoreChooseStacks(t *testing.T) {
	var columns sites.Collector
	s, err := series.Open([]string{testutil.Data(t, "leaky")}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")})
	require.NoError(t, err)
	filter := symbolize.NewFilter(symbols, regexp.MustCompile("leaky::remember"), nil)
	j := judged{s, symbols, growth.Judge(s, symbols, &columns, growth.Options{Filter: filter})}
	require.Equal(t, []string{"leaky::remember<leaky::Request>"}, j.leaks())
}

// site is a stack of a made-up series: its address, and its bytes by snapshot.
type site struct {
	addr  int
	bytes func(i int) int
}

// madeUp writes a series of complete snapshots from functions.
func madeUp(t *testing.T, n int, sites ...site) string {
	t.Helper()
	paths := make([]callPath, len(sites))
	for i, s := range sites {
		paths[i] = callPath{fmt.Sprintf(" 0x%08x 0x00400999", s.addr), s.bytes}
	}
	return madeUpOf(t, n, paths...)
}

// callPath is a site with its whole stack.
type callPath struct {
	stack string
	bytes func(i int) int
}

// madeUpOf writes a series of complete snapshots from functions.
func madeUpOf(t *testing.T, n int, paths ...callPath) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		var rows strings.Builder
		total := 0
		for _, p := range paths {
			b := p.bytes(i)
			total += b
			fmt.Fprintf(&rows, "%6d: %8d [%6d: %8d] @%s\n", b/100, b, b/100, b, p.stack)
		}
		text := fmt.Sprintf("heap profile: %6d: %8d [%6d: %8d] @ heapprofile\n%s\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1    /nonexistent/program\n",
			total/100, total, total/100, total+i<<20, rows.String())
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), []byte(text), 0o600))
	}
	return dir
}

// TestAFunctionCompiledIntoItsCaller: keepOrder leaks. V8 compiles it into tick after 20 of 24 snapshots, so that its
// call path ends, and that of tick begins.
func TestAFunctionCompiledIntoItsCaller(t *testing.T) {
	const each = 256 << 10
	dir := madeUpOf(t, 24,
		callPath{" 0x7f0000000408 0x7f0000000108 0x7f0000000208", func(i int) int { return min(i, 20) * each }},
		callPath{" 0x7f0000000408 0x7f0000000308", func(i int) int { return max(0, i-20) * each }})
	const names = `7f0000000100 40 LazyCompile:~keepOrder /srv/app.js:10
7f0000000200 40 LazyCompile:~tick /srv/app.js:33
7f0000000300 40 LazyCompile:*tick /srv/app.js:33
7f0000000400 40 malloc
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "perf-1.map"), []byte(names), 0o600))
	j := judge(t, dir, "/nonexistent", growth.Options{All: true})
	require.Equal(t, []string{"keepOrder"}, j.leaks())
	require.EqualValues(t, 23*each, j.Sites[0].Gained)
}

func TestSitesOfAnUnnamedModuleAreDistinct(t *testing.T) {
	dir := madeUp(t, 24,
		site{0x400100, func(i int) int { return 1<<20 + i*(1<<19) }},
		site{0x400200, func(int) int { return 5 << 20 }})
	j := judge(t, dir, "/nonexistent", growth.Options{})
	require.Equal(t, []string{"program+0x100"}, j.leaks(), "a site in a missing file is module+offset")
	require.Equal(t, symbolize.ReasonMissing, j.symbols.Modules[0].Reason)
}

func TestTotalsOfSitesAreThoseOfTheSnapshots(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{All: true})
	for i, h := range j.series.Heads {
		var sum int64
		for _, s := range j.Sites {
			sum += s.Bytes[i]
		}
		require.Equal(t, h.Heap().InuseBytes, sum, "snapshot %d", i+1)
	}
}

func TestNoVerdictOnFewSnapshots(t *testing.T) {
	dir := madeUp(t, 3, site{0x400100, func(i int) int { return i << 24 }})
	j := judge(t, dir, "/nonexistent", growth.Options{})
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
	require.Equal(t, verdict.TooFewSnapshots, j.Why)
}

// TestManyRestartsCostLittle: each process image has stacks of its own. Their columns are only as
// long as they live.
func TestManyRestartsCostLittle(t *testing.T) {
	dir := madeUp(t, 300, site{0x400100, func(i int) int { return 1 << 20 }})
	const images = 100
	for i := range 300 { // three snapshots an image: the cumulative count falls, the program moves
		path := filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		moved := strings.ReplaceAll(string(text), "0x004", fmt.Sprintf("0x%03x", 4+i/3))
		moved = strings.ReplaceAll(moved, "00400000-00500000", fmt.Sprintf("%03x00000-%03x00000", 4+i/3, 5+i/3))
		require.NoError(t, os.WriteFile(path, []byte(moved), 0o600))
	}
	j := judge(t, dir, "/nonexistent", growth.Options{All: true})
	require.Equal(t, images, j.series.Heads[299].Image+1)
	require.Equal(t, images, j.series.Stacks.Len())
	require.Len(t, j.Sites, 1, "the same place in the program is one site")
}

// TestMayReplace: after attach, new memory may replace what was there before, whose release is not seen: the
// resident memory tells. In a recording from the start it does not matter.
func TestMayReplace(t *testing.T) {
	const attach = `{"recording":{"engine":"builtin","command":["server"]}}` + "\n"
	for _, c := range []struct {
		head string
		rss  int // MiB in each snapshot, of a heap that grows by 1 MiB
		want verdict.Reason
	}{
		{attach, 0, verdict.MayReplace}, {attach, 1, verdict.SitesLeak}, {"", 0, verdict.SitesLeak},
	} {
		dir := madeUp(t, 24, site{0x400100, func(i int) int { return (i + 1) << 20 }})
		lines := fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema) + c.head
		for i := range 24 {
			lines += fmt.Sprintf(`{"snapshot":{"file":"p.%04d.heap","time":"2026-01-01T00:%02d:00Z","pid":1,"trigger":"time","rss_bytes":%d}}`+"\n",
				i+1, i, (100+c.rss*i)<<20)
		}
		testutil.WriteFile(t, filepath.Join(dir, manifest.Name), lines, 0o600)
		j := judge(t, dir, "", growth.Options{})
		require.Equal(t, c.want, j.Why, "%+v", c)
		require.Equal(t, c.want.Series(), j.Verdict)
		require.Equal(t, 1, j.Leaks)
	}
}

// TestProcessGrowsOutsideItsHeap: the manifest has the size of the resident set.
func TestProcessGrowsOutsideItsHeap(t *testing.T) {
	dir := t.TempDir()
	lines := fmt.Sprintf("{\"schema\":%q}\n", manifest.Schema)
	for i := range 12 {
		name := fmt.Sprintf("p.%04d.heap", i+1)
		testutil.WriteFile(t, filepath.Join(dir, name), fmt.Sprintf("heap profile: 5: 50000 [%d: %d] @ heapprofile\n 5: 50000 [%d: %d] @ 0x10\n\nMAPPED_LIBRARIES:\n", 5+i, 50000+i, 5+i, 50000+i), 0o600)
		lines += fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-01T00:%02d:00Z","pid":1,"trigger":"time","rss_bytes":%d}}`+"\n", name, i, (100+i)<<20)
	}
	testutil.WriteFile(t, filepath.Join(dir, manifest.Name), lines, 0o600)
	j := judge(t, dir, "", growth.Options{})
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
	require.Equal(t, verdict.OnlyProcessGrows, j.Why)
	require.Equal(t, int64(111<<20), j.LastRSS)
	require.Contains(t, j.Notes, growth.Note{Kind: growth.NoteProcessGrows, Bytes: 11 << 20})
}

// TestNothingRecorded: snapshots without any allocation show no leak, nor that there is none.
func TestNothingRecorded(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		testutil.WriteFile(t, filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)),
			"heap profile: 0: 0 [0: 0] @ heapprofile\n\nMAPPED_LIBRARIES:\n", 0o600)
	}
	j := judge(t, dir, "", growth.Options{})
	require.Equal(t, verdict.SeriesUndecided, j.Verdict)
	require.Equal(t, verdict.NothingRecorded, j.Why)
}

// TestSuppressedGrowthIsTakenOut: what a suppression names is neither judged nor a part of the
// heap.
func TestSuppressedGrowthIsTakenOut(t *testing.T) {
	list, err := suppress.Parse("leak:plugin::Tracker::record\n", "known.supp", time.Now())
	require.NoError(t, err)
	all := fixture(t, "leaky", "leaky/sysroot", growth.Options{})
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{Suppressions: list})
	require.Equal(t, []string{"leaky::remember<leaky::Request>"}, j.leaks())
	require.Len(t, j.Suppressed, 1)
	require.GreaterOrEqual(t, j.Suppressed[0].Gained, all.Sites[1].Gained, "the leak, and what else is allocated below it")
	require.Equal(t, all.LastHeap-all.FirstHeap, j.LastHeap-j.FirstHeap+j.Suppressed[0].Gained)
}

// TestStableSitesAreListedSeparately: every judged site is listed or stable, whichever options are
// set.
func TestStableSitesAreListedSeparately(t *testing.T) {
	all := fixture(t, "leaky", "leaky/sysroot", growth.Options{All: true, KeepStable: true})
	require.Empty(t, all.Stable)
	some := fixture(t, "leaky", "leaky/sysroot", growth.Options{KeepStable: true})
	require.NotEmpty(t, some.Stable)
	require.Len(t, all.Sites, len(some.Sites)+len(some.Stable))
	few := fixture(t, "leaky", "leaky/sysroot", growth.Options{})
	require.Empty(t, few.Stable)
	require.Equal(t, some.Sites, few.Sites)
}

// TestResultsDoNotChange: judging a result again returns another one.
func TestResultsDoNotChange(t *testing.T) {
	j := fixture(t, "leaky", "leaky/sysroot", growth.Options{})
	before := fmt.Sprint(*j.Result) // some numbers are NaN
	more := []growth.Evidence{{Confidence: 0.1, Time: 500, Held: 1 << 30}, {Confidence: 0.1, Time: 500, Held: 1 << 30}}
	pooled := j.Pooled(func(*growth.Site) []growth.Evidence { return more }, more, growth.Options{})
	require.NotEqual(t, verdict.SeriesLeak, pooled.Verdict)
	require.Equal(t, 7, j.WithShort(7).Short)
	require.True(t, before == fmt.Sprint(*j.Result))
}
