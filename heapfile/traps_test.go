package heapfile_test

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

// trap is one peculiarity of real files: the text, and what the reader returns for it.
type trap struct {
	rule     string
	text     string
	rows     []string // see show
	warnings []string // all of them, by name
}

var traps = []trap{
	{
		rule:     "a negative count is kept as it is",
		text:     heaptest.Exact("-2: 64 [3: 96]", "-2: 64 [3: 96] @ 0x1"),
		rows:     []string{"-2: 64 [3: 96] @ 0x1"},
		warnings: []string{"negative-count"},
	},
	{
		rule:     "a row with the count -1 of HEAP_PROFILE_MMAP is kept",
		text:     heaptest.Exact("-1: 524288 [1: 1048576]", "-1: 524288 [1: 1048576] @ 0x1 0x2"),
		rows:     []string{"-1: 524288 [1: 1048576] @ 0x1 0x2"},
		warnings: []string{"negative-count"},
	},
	{
		rule:     "a row with bytes and without objects is kept",
		text:     heaptest.Exact("0: 4096 [1: 8192]", "0: 4096 [1: 8192] @ 0x1"),
		rows:     []string{"0: 4096 [1: 8192] @ 0x1"},
		warnings: []string{"zero-objects"},
	},
	{
		rule: "@ without addresses is an empty stack",
		text: heaptest.Exact("11: 1100 [11: 1100]", "10: 1010 [10: 1010] @ 0x1", "1: 90 [1: 90] @"),
		rows: []string{"10: 1010 [10: 1010] @ 0x1", "1: 90 [1: 90] @"},
	},
	{
		rule:     "many bytes on empty stacks are a warning",
		text:     heaptest.Exact("2: 200 [2: 200]", "1: 100 [1: 100] @ 0x1", "1: 100 [1: 100] @"),
		rows:     []string{"1: 100 [1: 100] @ 0x1", "1: 100 [1: 100] @"},
		warnings: []string{"empty-stack"},
	},
	{
		rule: "(nil) is the address 0",
		text: heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1 (nil) 0x3"),
		rows: []string{"1: 2 [1: 2] @ 0x1 0x0 0x3"},
	},
	{
		rule: "an address has 64 bits",
		text: heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0xffffffffffffffff"),
		rows: []string{"1: 2 [1: 2] @ 0xffffffffffffffff"},
	},
	{
		rule:     "an address of more than 64 bits is malformed",
		text:     heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1", "0: 0 [0: 0] @ 0x10000000000000000"),
		rows:     []string{"1: 2 [1: 2] @ 0x1"},
		warnings: []string{"malformed-row"},
	},
	{
		rule: "rows with the same stack are not merged",
		text: heaptest.Exact("3: 6 [3: 6]", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x1 0x2"),
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x1 0x2"},
	},
	{
		rule:     "a malformed line is skipped",
		text:     heaptest.Exact("3: 6 [3: 6]", "2: 4 [2: 4] @ 0x1", "2: 4 oddity", "1: 2 [1: 2] @ 0x2"),
		rows:     []string{"2: 4 [2: 4] @ 0x1", "1: 2 [1: 2] @ 0x2"},
		warnings: []string{"malformed-row"},
	},
	{
		rule: "comments and blank lines are skipped",
		text: heaptest.Exact("1: 2 [1: 2]", "# runtime.MemStats", "", "1: 2 [1: 2] @ 0x1"),
		rows: []string{"1: 2 [1: 2] @ 0x1"},
	},
	{
		rule:     "the header counts more than the rows",
		text:     heaptest.Exact("3: 300 [5: 500]", "1: 100 [2: 200] @ 0x1"),
		rows:     []string{"1: 100 [2: 200] @ 0x1"},
		warnings: []string{"header-mismatch"},
	},
	{
		rule: "lines may end with a carriage return",
		text: strings.ReplaceAll(heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1 0x2"), "\n", "\r\n"),
		rows: []string{"1: 2 [1: 2] @ 0x1 0x2"},
	},
	{
		rule:     "a stack at the allocator's limit may lack its outermost callers",
		text:     heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @"+strings.Repeat(" 0x1", 32)),
		rows:     []string{"1: 2 [1: 2] @" + strings.Repeat(" 0x1", 32)},
		warnings: []string{"depth-limit"},
	},
	{
		rule: "a line of 60,000 addresses",
		text: heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @"+strings.Repeat(" 0x1", 60_000)),
		rows: []string{"1: 2 [1: 2] @" + strings.Repeat(" 0x1", 60_000)}, warnings: []string{"depth-limit"},
	},
	{
		rule:     "a line that is too long is skipped",
		text:     heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1", "0: 0 [0: 0] @"+strings.Repeat(" 0x1", 1<<19)),
		rows:     []string{"1: 2 [1: 2] @ 0x1"},
		warnings: []string{"long-line"},
	},
	{
		rule: "a file truncated at 1 MiB between two addresses: the counts are kept, the last address is dropped",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 0x4 0x5") + maps[1:],
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 0x4 …"}, warnings: []string{"cut"},
	},
	{
		rule: "truncated within an address",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 0x") + maps[1:],
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 …"}, warnings: []string{"cut"},
	},
	{
		rule: "truncated before the first address",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @") + maps[1:],
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ …"}, warnings: []string{"cut"},
	},
	{
		rule: "truncated within the counts: the row is dropped, the previous one is complete",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "     1:") + maps[1:],
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2"}, warnings: []string{"cut"},
	},
	{
		rule: "mimalloc and Chromium write no blank line before the mappings: the header counts no more than the rows",
		text: heaptest.Lines("heap profile: 3: 6 [3: 6] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 0x4 0x5") + maps[1:],
		rows: []string{"2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ 0x3 0x4 0x5"},
	},
	{
		rule:     "the last row without a blank line is malformed",
		text:     heaptest.Lines("heap profile: 3: 6 [3: 6] @ heapprofile", "2: 4 [2: 4] @ 0x1 0x2", "1: 2 [1: 2] @ oddity") + maps[1:],
		rows:     []string{"2: 4 [2: 4] @ 0x1 0x2"},
		warnings: []string{"malformed-row", "header-mismatch"},
	},
	{
		rule: "a Go program writes its profile as text, without mappings",
		text: heaptest.Lines("heap profile: 1: 2 [3: 8] @ heap/8192", "1: 2 [3: 8] @ 0x47c30c 0x4d970a",
			"#\t0x4d9709\tmain.leak+0x89\t\t/opt/x/m.go:4", "", "", "# runtime.MemStats", "# Alloc = 7809352"),
		rows: []string{"1: 2 [3: 8] @ 0x47c30c 0x4d970a"}, warnings: []string{"no-mappings"},
	},
	{
		rule:     "fewer bytes allocated than in use",
		text:     heaptest.Exact("2: 900 [1: 800]", "2: 900 [1: 800] @ 0x1"),
		rows:     []string{"2: 900 [1: 800] @ 0x1"},
		warnings: []string{"impossible-counts"},
	},
	{
		rule: "the file ends within a stack",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1") + "1: 2 [1: 2] @ 0x3 0x4",
		rows: []string{"2: 4 [2: 4] @ 0x1", "1: 2 [1: 2] @ 0x3 …"}, warnings: []string{"partial"},
	},
	{
		rule: "the file ends within an address",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1") + "1: 2 [1: 2] @ 0x3 0x",
		rows: []string{"2: 4 [2: 4] @ 0x1", "1: 2 [1: 2] @ 0x3 …"}, warnings: []string{"partial"},
	},
	{
		rule: "the file ends within the counts",
		text: heaptest.Lines("heap profile: 9: 900 [9: 900] @ heapprofile", "2: 4 [2: 4] @ 0x1") + "1: 2 [1",
		rows: []string{"2: 4 [2: 4] @ 0x1"}, warnings: []string{"partial"},
	},
	{
		rule: "the file ends after its rows",
		text: heaptest.Lines("heap profile: 2: 4 [2: 4] @ heapprofile", "2: 4 [2: 4] @ 0x1"),
		rows: []string{"2: 4 [2: 4] @ 0x1"}, warnings: []string{"partial"},
	},
	{
		rule: "the file ends after its header",
		text: heaptest.Lines("heap profile: 2: 4 [2: 4] @ heapprofile"),
		rows: []string{}, warnings: []string{"partial"},
	},
	{
		rule: "without sampling, %warn lines precede the header",
		text: heaptest.Lines("%warn", "%warn no data", "%warn") + heaptest.WithHeader("heap profile: 0: 0 [0: 0] @ heap_v2/0"),
		rows: []string{}, warnings: []string{"writer-warning"},
	},
	{
		rule: "symbolized text of jeprof --raw",
		text: heaptest.Lines("--- symbol", "binary=/usr/bin/program", "0x0000000000000001 f--g", "---", "--- heap") + heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1"),
		rows: []string{"1: 2 [1: 2] @ 0x1"},
	},
	{
		rule: "symbolized text of google-pprof --raw says profile for heaps, too",
		text: heaptest.Lines("--- symbol", "binary=/usr/bin/program", "0x0000000000000001 f--g", "---", "--- profile") + heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1"),
		rows: []string{"1: 2 [1: 2] @ 0x1"},
	},
}

func TestTraps(t *testing.T) {
	for _, c := range append(traps, jemallocTraps...) {
		t.Run(c.rule, func(t *testing.T) {
			s := read(t, c.text)
			require.Equal(t, c.rows, show(s))
			require.Equal(t, len(c.rows), s.Rows)
			require.ElementsMatch(t, c.warnings, heaptest.Kinds(s.Warnings))
		})
	}
}

func TestEveryWarningHasFileAndLine(t *testing.T) {
	for _, c := range append(traps, jemallocTraps...) {
		t.Run(c.rule, func(t *testing.T) {
			s, err := heapfile.Read(strings.NewReader(c.text), textName)
			if err != nil {
				t.Skip("refused: TestTraps tells")
			}
			for _, w := range s.Warnings {
				require.Regexp(t, `^test\.heap:[1-9][0-9]*: .*[^ :]$`, w.Error(), "%s", w.Kind)
			}
		})
	}
}

func TestWarningHasItsFirstLineAndACount(t *testing.T) {
	s := read(t, heaptest.Exact("0: 4 [0: 4]", "1: 4 [1: 4] @ 0x1", "-1: 0 [-1: 0] @ 0x2", "-1: 0 [-1: 0] @ 0x3"))
	w := heaptest.Find(t, s.Warnings, heapfile.WarnNegative)
	require.Equal(t, 3, w.Line)
	require.Equal(t, 2, w.Count)
	require.Equal(t, "test.heap:3: a negative count: -1: 0 [-1: 0] (2 times)", w.Error())
}

func TestNegativeCountOfATruncatedRowIsReportedOnce(t *testing.T) {
	s := read(t, truncated("heap profile: 9: 900 [9: 900] @ heapprofile", "-1: 524288 [1: 524288] @ 0x1 0x2"))
	require.Equal(t, 1, heaptest.Find(t, s.Warnings, heapfile.WarnNegative).Count)
}

func TestWarningOfTheAllocatorIsQuoted(t *testing.T) {
	s := read(t, heaptest.Lines("%warn", "%warn This heap profile does not have any data in it", "%warn")+heaptest.WithHeader("heap profile: 0: 0 [0: 0] @ heap_v2/0"))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnWriter).Msg, "does not have any data")
}

func TestHeaderMismatchNamesTheDifference(t *testing.T) {
	s := read(t, heaptest.Exact("3: 300 [5: 500]", "1: 100 [2: 200] @ 0x1"))
	require.Contains(t, heaptest.Find(t, s.Warnings, heapfile.WarnHeaderMismatch).Msg, "2 objects, 200 bytes in use; 3 objects, 300 bytes allocated")
}

// pprof writes the inlined function last.
func TestSymbolsAreInnermostFirst(t *testing.T) {
	s := read(t, heaptest.Lines("--- symbol", "binary=/b", "0x0000000000000010 caller(int, char)--inlined", "0x11", "---", "--- heap")+heaptest.Exact("0: 0 [0: 0]"))
	require.Equal(t, []heapfile.Symbol{{Addr: 0x10, Frames: []heapfile.FrameName{{Function: "inlined"}, {Function: "caller(int, char)"}}}, {Addr: 0x11}}, s.Symbols)
}

func TestHeaderDecidesFormatAndPeriod(t *testing.T) {
	for _, c := range []struct {
		header string
		format heapfile.Format
		period int64
	}{
		{"heap profile:   1:      2 [     3:        4] @ heapprofile", heapfile.FormatHeapProfile, 1},
		{"heap profile: 1: 2 [3: 4] @ heap_v2/524288", heapfile.FormatHeapV2, 524288},
		{"heap profile: 1: 2 [3: 4] @ heap_v2/0", heapfile.FormatHeapV2, 0},
		{"heap profile: 1: 2 [3: 4] @ heap", heapfile.FormatHeap, 0},
		{"heap profile: 1: 2 [3: 4] @ heap/1048576", heapfile.FormatHeap, 524288},
		{"heap profile: 1: 2 [3: 4] @ heapz_v2/524288", heapfile.FormatHeapzV2, 524288},
		{"heap profile: 1: 2 [3: 4] @ growth", heapfile.FormatGrowth, 1},
		{"heap profile: 1: 2 [3: 4] @ growthz", heapfile.FormatGrowthz, 1},
		{"heap profile: 1: 2 [3: 4] @ fragmentationz", heapfile.FormatFragmentationz, 1},
	} {
		t.Run(c.format.String(), func(t *testing.T) {
			s := read(t, heaptest.WithHeader(c.header, "1: 2 [3: 4] @ 0x1"))
			require.Equal(t, c.format, s.Format)
			require.Equal(t, c.period, s.Period)
			require.True(t, s.HasTotal)
			require.Equal(t, heapfile.Counts{InuseObjects: 1, InuseBytes: 2, AllocObjects: 3, AllocBytes: 4}, s.Total)
			require.Equal(t, "tcmalloc", s.Format.Allocator())
		})
	}
}

// TestScaledFormat: the counts are estimates that must not be scaled again, for pprof as well.
func TestScaledFormat(t *testing.T) {
	text := heaptest.WithHeader("heap profile: 3: 99 [4: 400] @ heapprofile/131072", "3: 99 [4: 400] @ 0x11 0x21")
	s := read(t, text)
	require.Equal(t, heapfile.FormatScaled, s.Format)
	require.Equal(t, "heaplapse", s.Format.Allocator())
	require.Equal(t, int64(131072), s.Period)
	require.True(t, s.IsEstimate())
	require.True(t, s.HasAlloc)
	want := heapfile.Counts{InuseObjects: 3, InuseBytes: 99, AllocObjects: 4, AllocBytes: 400}
	require.Equal(t, want, s.Estimate(s.Samples[0]))
	require.Equal(t, want, s.Heap())
	p, err := profile.ParseData([]byte(text))
	require.NoError(t, err)
	require.Equal(t, []int64{4, 400, 3, 99}, p.Sample[0].Value)

	exact := read(t, strings.Replace(text, "/131072", "/1", 1))
	require.Equal(t, heapfile.FormatScaled, exact.Format)
	require.False(t, exact.IsEstimate(), "a period of one byte samples every allocation")
}

func TestFormatsWithCumulativeCounts(t *testing.T) {
	for header, want := range map[string]bool{
		"heap profile: 1: 2 [1: 2] @ heapprofile":     true, // nothing freed yet
		"heap profile: 1: 2 [1: 2] @ heap_v2/524288":  false,
		"heap profile: 1: 2 [0: 0] @ heapprofile":     false, // jemalloc 3 without prof_accum
		"heap profile: 1: 2 [3: 4] @ heap/1048576":    true,  // Go's
		"heap profile: 1: 2 [0: 0] @ heapz_v2/524288": false,
		"heap profile: 1: 2 [1: 2] @ growth":          false,
	} {
		require.Equal(t, want, read(t, heaptest.WithHeader(header)).HasAlloc, header)
	}
}
