package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// judge opens and judges a series as the command does.
func judge(t *testing.T, path string) *growthreport.Report {
	t.Helper()
	var columns sites.Collector
	s, err := series.Open([]string{path}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, strings.Split(filepath.Base(path), "-")[0], "sysroot")})
	require.NoError(t, err)
	r := growth.Judge(s, symbols, &columns, growth.Options{All: true})
	judged := &pipeline.Judged{Series: s, Symbols: symbols, Result: r}
	process := processes.Judge(s, r, judged.Key)
	judged.Process = &process
	return &growthreport.Report{Judged: judged}
}

func build(t *testing.T, path string) (*growthreport.Report, *Model) {
	t.Helper()
	g := judge(t, path)
	m, err := Build(Options{Growth: g, Tool: "test"})
	require.NoError(t, err)
	return g, m
}

// recorded are series of each kind: complete, truncated, sampled, without cumulative counts, with
// restarts.
var recorded = []string{"leaky", "python", "node", "leaky-jemalloc", "leaky-jemalloc-noaccum", "dialects/restart", "dialects/sampled"}

// TestTotalsAreConserved: at every moment the leaves of each kind sum to the total in the
// snapshot's header, which is also the moment's own number.
func TestTotalsAreConserved(t *testing.T) {
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			g, m := build(t, testutil.Data(t, name))
			for k, kind := range m.Kinds {
				sums := make([]int64, len(m.Moments))
				for _, d := range m.Leaves.Values[kind] {
					for i, v := range d.Column(len(sums)) {
						sums[i] += v
					}
				}
				for i, moment := range m.Moments {
					want := values(g.Series.Heads[moment.Snapshot-1].Heap())[k]
					require.Equal(t, want, sums[i], "%s at snapshot %d", kind, moment.Snapshot)
					require.Equal(t, want, [4]int64{moment.InuseBytes, moment.InuseObjects, moment.AllocBytes, moment.AllocObjects}[k])
				}
			}
		})
	}
}

// TestSitesEqualThoseOfGrowth: the leaves of a site sum to its column in the growth result,
// wherever a snapshot lists it.
func TestSitesEqualThoseOfGrowth(t *testing.T) {
	for _, name := range recorded {
		t.Run(name, func(t *testing.T) {
			g, m := build(t, testutil.Data(t, name))
			require.LessOrEqual(t, len(g.Result.Sites), len(m.Sites))
			for i, rank := range ranked(g.Result.Sites) {
				s := &g.Result.Sites[rank]
				if s.Label < verdict.Stable {
					require.Equal(t, i, rank, "what has a verdict keeps its rank")
				}
				require.Equal(t, s.Label.String(), m.Sites[i].Label)
				require.Equal(t, growthreport.LabelText(s.Label, s.Confidence), m.Sites[i].Verdict)
				got := siteColumn(m, i)
				for at, moment := range m.Moments {
					if s.Visible[moment.Snapshot-1] {
						require.Equal(t, s.Bytes[moment.Snapshot-1], got[at], "%s at snapshot %d", m.Sites[i].Title, moment.Snapshot)
					} else {
						require.Contains(t, m.Sites[i].Hidden, at)
					}
				}
			}
		})
	}
}

func siteColumn(m *Model, site int) []int64 {
	sum := make([]int64, len(m.Moments))
	for leaf, s := range m.Leaves.Sites {
		if s == site {
			for i, v := range m.Leaves.Values["inuse_bytes"][leaf].Column(len(sum)) {
				sum[i] += v
			}
		}
	}
	return sum
}

// TestThePathsOfASite end in the function that it is attributed to, with its line.
func TestThePathsOfASite(t *testing.T) {
	_, m := build(t, testutil.Data(t, "leaky"))
	site := m.Sites[0]
	require.Equal(t, "leaky::remember<leaky::Request>", site.Function)
	require.Len(t, site.Paths, 2)
	for _, p := range site.Paths {
		f := m.Frames[p.Frames[p.Blame]]
		require.Equal(t, site.Function, m.Strings[m.Functions[f[0]][0]])
		require.Equal(t, site.File, m.Strings[f[1]])
		require.Equal(t, site.Line, f[2])
	}
	require.Equal(t, site.Growth, site.Paths[0].Growth+site.Paths[1].Growth)
}

// TestTheResidentSet is shown beside the heap if it was recorded; if not, the page says so.
func TestTheResidentSet(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(testutil.Data(t, "leaky-jemalloc"))))
	dumps, err := filepath.Glob(filepath.Join(dir, "*.heap.gz"))
	require.NoError(t, err)
	lines := []string{`{"schema":"heaplapse.manifest/1"}`}
	for _, d := range dumps {
		lines = append(lines, fmt.Sprintf(`{"snapshot":{"file":%q,"time":"2026-01-01T00:00:00Z","trigger":"time","rss_bytes":%d}}`, strings.TrimSuffix(filepath.Base(d), ".gz"), 100<<20))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "heaplapse.manifest.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	_, m := build(t, dir)
	require.Equal(t, &Ends{100 << 20, 100 << 20}, m.RSS)
	for _, moment := range m.Moments {
		require.Equal(t, int64(100<<20), *moment.RSSBytes)
	}
	facts := view{Model: m}.Facts()
	require.Equal(t, "100 MiB → 100 MiB", facts[1].Value)
	require.Contains(t, facts[1].More, "of it outside the heap")
	_, without := build(t, testutil.Data(t, "leaky-jemalloc"))
	require.Nil(t, without.RSS)
	require.Equal(t, "not recorded", view{Model: without}.Facts()[1].Value)
}

// TestEqualInputGivesEqualBytes: the result does not depend on the order of a map or on the clock.
func TestEqualInputGivesEqualBytes(t *testing.T) {
	render := func() string {
		_, m := build(t, testutil.Data(t, "leaky"))
		var b bytes.Buffer
		require.NoError(t, (&Document{models: []*Model{m}}).HTML(&b))
		return b.String()
	}
	require.Equal(t, render(), render())
}

// TestChangedFileIsAnError checks that the error names a file that changed after the series was
// opened.
func TestChangedFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	write := func(n int, stack string) {
		text := fmt.Sprintf("heap profile: %d: %d [%d: %d] @ heapprofile\n%d: %d [%d: %d] @ %s\n\nMAPPED_LIBRARIES:\n", n, 8*n, n, 8*n, n, 8*n, n, 8*n, stack)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", n)), []byte(text), 0o600))
	}
	for n := 1; n <= 8; n++ {
		write(n, "0x10 0x20")
	}
	g := judge(t, dir)
	write(3, "0x10 0x30")
	_, err := Build(Options{Growth: g})
	require.ErrorContains(t, err, "p.0003.heap: changed while it was read")
}

// thousands is a grid of n call paths with independent noise.
func thousands(n, moments int) (*code, *grid, *columns) {
	rnd := rand.New(rand.NewPCG(1, 2))
	c := newCode()
	g := newGrid(c.function("heap", ""))
	var totals columns
	for i := range n {
		var path []int
		for depth := range 24 {
			n := rnd.IntN(1 + 6*depth*depth) // callees fan out: some 3,000 functions in all
			path = append(path, c.function(fmt.Sprintf("service::module%d::Class<%d>::method%d", depth, n%97, n), "libservice.so"))
		}
		l := leaf{site: i % 700}
		mean := int64(1) << (8 + rnd.IntN(12)) // bytes in use, 256 to 512 Ki, with a tenth of noise
		var allocated [2]int64
		for at := range moments {
			objects := 1 + rnd.Int64N(100)
			l.add(at, moments, [4]int64{mean + mean*int64(at)/100 + rnd.Int64N(mean/10), objects, allocated[0], allocated[1]})
			allocated[0], allocated[1] = allocated[0]+mean+rnd.Int64N(mean), allocated[1]+objects
		}
		for k := range l.columns {
			for at, v := range l.columns[k] {
				var one [4]int64
				one[k] = v
				totals.add(at, moments, one)
			}
		}
		path = append(path, c.function(fmt.Sprintf("leaf%d", i), "libservice.so"))
		g.include(path, &l)
	}
	return c, g, &totals
}

// TestThePageIsSmall: 4,000 call paths at 240 moments give a page below 8 MB, although noise
// compresses badly. The page counts what it folded, and totals are conserved.
func TestThePageIsSmall(t *testing.T) {
	const paths, moments = 4000, 240
	c, g, totals := thousands(paths, moments)
	m, err := fit(paths, maxPacked, func(keep int) *Model {
		kept, folded := g.fold(keep, totals, c.function(smaller, ""))
		m := &Model{Kinds: Kinds[:], Moments: make([]Moment, moments), Snapshots: 1000, Folded: folded}
		m.lay(c, kept)
		return m
	})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, (&Document{models: []*Model{m}}).HTML(&b))
	t.Logf("%d bytes, of which %d are data; folded: %+v", b.Len(), len(m.packed), m.Folded)
	require.Less(t, b.Len(), 8_000_000)
	require.Greater(t, b.Len(), 4_000_000, "the room is used")
	require.Positive(t, m.Folded.CallPaths)
	require.Contains(t, b.String(), fmt.Sprintf("%d smaller call paths", m.Folded.CallPaths))
	for k, kind := range Kinds {
		sums := make([]int64, moments)
		for _, d := range m.Leaves.Values[kind] {
			for i, v := range d.Column(moments) {
				sums[i] += v
			}
		}
		require.Equal(t, totals[k], sums, kind)
	}
}

// TestFoldKeepsTheLargest: folded leaves are smaller than kept ones.
func TestFoldKeepsTheLargest(t *testing.T) {
	c := newCode()
	g := newGrid(c.function("heap", ""))
	f := func(names ...string) (out []int) {
		for _, n := range names {
			out = append(out, c.function(n, "m"))
		}
		return out
	}
	var totals columns
	for _, l := range []struct {
		path  []int
		site  int
		bytes int64
	}{{f("main", "big"), 0, 100}, {f("main", "big", "tiny"), 1, 1}, {f("main", "big", "small"), 1, 2}, {f("other", "deep", "down"), 2, 3}} {
		g.leaves[g.leaf(l.path, l.site)].add(0, 1, [4]int64{l.bytes})
		totals.add(0, 1, [4]int64{l.bytes})
	}
	kept, folded := g.fold(1, &totals, c.function(smaller, ""))
	require.Equal(t, 3, folded.CallPaths)
	require.InDelta(t, 6.0/106, folded.InuseShare, 1e-9)
	got := map[string]int64{}
	for _, l := range kept.leaves {
		var names []string
		for _, fn := range kept.path(l.node) {
			names = append(names, c.names.list[c.functions[fn].name])
		}
		got[strings.Join(names, "/")] = l.columns[InuseBytes][0]
	}
	require.Equal(t, map[string]int64{"main/big": 100, "main/big/" + smaller: 3, smaller: 3}, got)
}

// TestHostileNamesInMarkdown: names in the summary are text for every renderer.
func TestHostileNamesInMarkdown(t *testing.T) {
	g := judge(t, hostileSeries(t, []string{`</summary><img src=x onerror=alert(1)>`, "a|b`c`|d", "[link](http://x) **bold** @somebody", "two\u2028lines\u202e"}))
	var source, out bytes.Buffer
	require.NoError(t, g.Markdown(&source))
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	require.NoError(t, markdown.Convert(source.Bytes(), &out))
	for _, tag := range []string{"<img", "<a ", "<strong>bold", "<script"} {
		require.NotContains(t, out.String(), tag)
	}
	require.Equal(t, 7*strings.Count(out.String(), "<tr>"), strings.Count(out.String(), "</td>")+strings.Count(out.String(), "</th>"), "cells of the table")
	require.Equal(t, strings.Count(out.String(), "<details>"), strings.Count(out.String(), "</details>"))
}
