package growth_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// named are the frames of a stack, innermost first: "function file:line".
type named struct {
	frames []string
	bytes  func(i int) int
}

// pythonSeries returns the result of a series with Python's frames, one snapshot a minute.
func pythonSeries(t *testing.T, n int, stacks ...named) *growth.Result {
	t.Helper()
	paths := make([]callPath, len(stacks))
	address, at := 0x400100, map[string]int{}
	names := map[int]string{}
	for i, s := range stacks {
		for _, f := range s.frames {
			if at[f] == 0 {
				at[f], names[address] = address, f
				address += 0x10
			}
			paths[i].stack += fmt.Sprintf(" 0x%08x", at[f])
		}
		paths[i].bytes = s.bytes
	}
	var columns sites.Collector
	list, err := series.Open([]string{madeUpOf(t, n, paths...)}, series.Options{Visit: columns.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, list.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), list, symbolize.Options{Sysroot: "/nonexistent"})
	require.NoError(t, err)
	for i := range symbols.Locations {
		l := &symbols.Locations[i]
		for a, f := range names {
			if l.Offset == uint64(a-0x400000) || l.Offset == uint64(a-0x400000-1) {
				function, place, _ := strings.Cut(f, " ")
				colon := strings.LastIndex(place, ":")
				file, line := place[:colon], place[colon+1:]
				var number int
				_, err := fmt.Sscan(line, &number)
				require.NoError(t, err)
				l.Source, l.Frames = symbolize.SourceFrames, []symbolize.Frame{{Function: function, File: file, Line: number}}
			}
		}
	}
	return growth.Judge(list, symbols, &columns, growth.Options{All: true})
}

func filling(size int, tau float64) func(i int) int {
	return func(i int) int { return int(float64(size) * (1 - math.Exp(-float64(i)/tau))) }
}

func rising(step int) func(i int) int { return func(i int) int { return 1<<16 + i*step } }

// TestASiteIsOneRow: a function that fills a cache and leaks on another call path has one verdict, that of the leak,
// and its parts have theirs.
func TestASiteIsOneRow(t *testing.T) {
	r := pythonSeries(t, 30,
		named{[]string{"put /srv/lru.py:6", "handle /srv/app.py:20"}, rising(200 << 10)},
		named{[]string{"put /srv/lru.py:6", "warm /srv/app.py:40"}, filling(60<<20, 4)},
	)
	require.Len(t, r.Sites, 1)
	s := &r.Sites[0]
	require.Equal(t, verdict.Leak, s.Label)
	require.Len(t, s.Parts, 2)
	require.Equal(t, s.Label, s.Parts[0].Label)
	require.Equal(t, s.Parts[0].Confidence, s.Confidence)
	require.False(t, s.Parts[1].Label.IsSuspicious(), s.Parts[1].Label)
	require.Equal(t, s.Gained, s.Parts[0].Gained+s.Parts[1].Gained, "the row is the whole site")
	require.Len(t, s.Members, 2)
	require.Equal(t, s.Parts[0].Members[0], s.Members[0], "the call path that is shown is the one that leaks")
	members, gained := s.Leaking()
	require.Equal(t, s.Parts[0].Members, members)
	require.Equal(t, s.Parts[0].Gained, gained)
	require.InDelta(t, float64(gained)/float64(r.LastHeap-r.FirstHeap), r.Explained, 1e-9, "what fills is no part of the leak")
	require.Equal(t, 1, r.Leaks)
}

// importing is the end of a stack below an import, outermost last.
func importing(frames ...string) []string {
	return append(frames, "<module> /srv/models.py:3", "exec_module <frozen importlib._bootstrap_external>:940", "<module> /srv/app.py:1")
}

// TestImportsAreJudgedApart: what grows below an import runs once, however straight its curve. The other call paths
// of the function decide.
func TestImportsAreJudgedApart(t *testing.T) {
	imported := named{importing("register /srv/registry.py:9"), rising(400 << 10)}
	only := pythonSeries(t, 30, imported)
	require.Len(t, only.Sites, 1)
	require.Equal(t, verdict.Loading, only.Sites[0].Label)
	require.InDelta(t, 1, only.Sites[0].ImportShare, 0)
	require.Equal(t, verdict.StillLoading, only.Why, "no leak, and no proof that there is none")
	require.False(t, only.Total.Label.IsLeak())

	handled := named{[]string{"register /srv/registry.py:9", "handle /srv/app.py:20"}, rising(100 << 10)}
	both := pythonSeries(t, 30, imported, handled)
	require.Len(t, both.Sites, 1)
	require.Equal(t, verdict.Leak, both.Sites[0].Label, "the function leaks after the imports, too")
	alone := pythonSeries(t, 30, handled)
	require.InDelta(t, alone.Sites[0].Confidence, both.Sites[0].Confidence, 0.1)
}
