package summary_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/summary"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// summarized is the summary of a fixture.
func summarized(t *testing.T, name, sysroot string, o summary.Options) *baseline.Run {
	t.Helper()
	var c sites.Collector
	s, err := series.Open([]string{testutil.Data(t, name)}, series.Options{Visit: c.Visit})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: testutil.Data(t, sysroot)})
	require.NoError(t, err)
	r, err := summary.New(s, symbols, &c, o)
	require.NoError(t, err)
	return r
}

// blamed is the sum of the sites that are attributed to a function.
func blamed(r *baseline.Run, function string) (sum baseline.Level) {
	for _, s := range r.Sites {
		if s.Blame >= 0 && s.Frames[s.Blame].Function == function {
			sum = sum.Add(s.Level)
		}
	}
	return sum
}

// TestSummaryOfALeakyServer compares levels, slopes and cumulative counts with testdata/README.md.
func TestSummaryOfALeakyServer(t *testing.T) {
	r := summarized(t, "leaky", "leaky/sysroot", summary.Options{})
	m := r.Meta
	require.Equal(t, "leaky", m.Program)
	require.Equal(t, "heapprofile", m.Format)
	require.Zero(t, m.Period)
	require.Equal(t, 24, m.Snapshots)
	require.InDelta(t, 46, m.Span, 1)
	require.True(t, m.HasAlloc)
	require.Regexp(t, "^2148280ad1ff", m.BuildID)
	require.Empty(t, m.Workload)

	leak := blamed(r, "leaky::remember<leaky::Request>")
	require.InEpsilon(t, 130<<10, leak.Slope/3600, 0.05, "130 KiB/s")
	require.InEpsilon(t, leak.Peak, leak.AllocBytes, 0.01, "nothing is freed")
	require.InEpsilon(t, 0.75*leak.Peak, leak.Bytes, 0.05, "the median of the second half of a line")
	cache := blamed(r, "geom::TileCache::render")
	require.InEpsilon(t, 384*16<<10, cache.Bytes, 0.01, "the cache is full")
	require.Less(t, cache.Slope/3600, 1.0)
	require.Greater(t, cache.AllocBytes, 2.5*cache.Bytes, "and its tiles are replaced")
	require.InDelta(t, 2<<20, blamed(r, "geom::mesh::Projection::warm").Bytes, 64<<10)
}

// TestSummariesAddUp: the sites and Rest add up to the heap, sites are ranked, and the two blamed
// frames of a site agree.
func TestSummariesAddUp(t *testing.T) {
	for name, sysroot := range map[string]string{
		"leaky": "leaky/sysroot", "leaky-jemalloc": "leaky/sysroot", "python": "python/sysroot", "node": "node/sysroot",
		"dialects/restart": "dialects/sysroot", "dialects/dlclose": "dialects/sysroot", "leaky/leaky.0024.heap.gz": "leaky/sysroot",
	} {
		t.Run(name, func(t *testing.T) {
			r := summarized(t, name, sysroot, summary.Options{})
			sum := r.Rest
			for i, s := range r.Sites {
				sum = sum.Add(s.Level)
				require.True(t, i == 0 || s.Bytes <= r.Sites[i-1].Bytes)
				require.Equal(t, s.Blame < 0, s.Identity.Blame < 0)
				require.NotEmpty(t, s.Frames)
			}
			require.InDelta(t, r.Total.Bytes, sum.Bytes, 1)
			require.InDelta(t, r.Total.Objects, sum.Objects, 1)
			require.InDelta(t, r.Total.AllocBytes, sum.AllocBytes, 1)
			require.LessOrEqual(t, len(r.Sites), 6000)
			require.Less(t, r.Rest.Bytes, 0.1*r.Total.Bytes+1, "little is left over")
		})
	}
}

// TestSummaryIsTheSameAfterItsFile: a run read from a baseline's file equals the one from
// snapshots.
func TestSummaryIsTheSameAfterItsFile(t *testing.T) {
	want := summarized(t, "node", "node/sysroot", summary.Options{Name: "n", Work: 3, Labels: map[string]string{"a": "b"}})
	var b bytes.Buffer
	require.NoError(t, baseline.Write(&b, want))
	got, err := baseline.Read(&b, "n"+baseline.Suffix)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestHoldersOfAFunction: what holds a site is asked for all call paths of its function, also those
// that are too small to be kept; then for the site. A function may have thousands of them: it is asked for once.
func TestHoldersOfAFunction(t *testing.T) {
	most, asked := 0, map[string]int{}
	r := summarized(t, "leaky", "leaky/sysroot", summary.Options{Holder: func(sites []symbolize.SiteID) string {
		most = max(most, len(sites))
		asked[fmt.Sprint(sites)]++
		if len(sites) == 1 {
			return ""
		}
		return "held by g_sessions"
	}})
	paths := map[string]int{}
	for i := range r.Sites {
		paths[r.Sites[i].Identity.Function()]++
	}
	require.Greater(t, most, 1)
	for sites, times := range asked {
		require.LessOrEqual(t, times, 2, sites) // of a function, and of its only site
	}
	for i := range r.Sites {
		s := &r.Sites[i]
		if paths[s.Identity.Function()] > 1 && s.Blame >= 0 {
			require.Equal(t, "held by g_sessions", s.Holder, s.Identity.Function())
		}
	}
	one := summarized(t, "leaky", "leaky/sysroot", summary.Options{Holder: func(sites []symbolize.SiteID) string {
		if len(sites) > 1 {
			return ""
		}
		return "held by g_cache"
	}})
	require.Equal(t, "held by g_cache", one.Sites[0].Holder, "the function has several holders")
}

// TestSmallSitesAreKeptByFunction: CPython's interpreter allocates on thousands of call paths, most
// of them too small to be kept.
func TestSmallSitesAreKeptByFunction(t *testing.T) {
	r := summarized(t, "python", "python/sysroot", summary.Options{})
	alone := 0
	for _, s := range r.Sites {
		if len(s.Frames) == 1 && len(s.Identity.Frames) == 1 {
			alone++
			require.Zero(t, s.Blame)
		}
	}
	require.Positive(t, alone)
	require.Positive(t, r.Meta.AbsentMax)
}

// TestWorkloads: a name, or a hash of the command line that does not depend on the directory of the
// build.
func TestWorkloads(t *testing.T) {
	of := func(o summary.Options) string {
		return summarized(t, "leaky/leaky.0024.heap.gz", "leaky/sysroot", o).Meta.Workload
	}
	require.Equal(t, "replay", of(summary.Options{Workload: "replay", Command: []string{"a"}}))
	one := of(summary.Options{Command: []string{"/build/1/server", "-n", "5"}})
	require.Regexp(t, "^command [0-9a-f]{12}$", one)
	require.Equal(t, one, of(summary.Options{Command: []string{"/build/2/server", "-n", "5"}}))
	require.NotEqual(t, one, of(summary.Options{Command: []string{"/build/2/server", "-n", "6"}}))
}

// TestLargestImageIsSummedUp: of a process that restarted, the image with the most snapshots.
func TestLargestImageIsSummedUp(t *testing.T) {
	r := summarized(t, "dialects/restart", "dialects/sysroot", summary.Options{})
	require.Equal(t, 4, r.Meta.Snapshots)
}
