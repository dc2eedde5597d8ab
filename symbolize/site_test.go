package symbolize

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// TestSitesAcrossSpaces checks that after a restart at another address, a stack has another ID but
// the same site.
func TestSitesAcrossSpaces(t *testing.T) {
	path := standard(t).main
	calls := callsOf(t, path)[:30]
	const again = base + 0x7000_0000
	stacks := func(load uint64) [][]uint64 {
		at := loadedAt(calls, load)
		return [][]uint64{at[:10], at[10:20], at[:11]}
	}
	series := seriesOfMany(t,
		snapshotText(mapsOf(t, path, path, base), stacks(base)...),
		snapshotText(mapsOf(t, path, path, again), stacks(again)...))
	require.Len(t, series.Spaces, 2)
	require.Equal(t, 6, series.Stacks.Len())
	s := resolve(t, series, Options{})
	require.Len(t, s.Modules, 1)
	require.Equal(t, 3, s.Sites())
	for id := range heapfile.StackID(3) {
		require.Equal(t, s.Site(id), s.Site(id+3))
		require.NotEqual(t, s.Stack(id), s.Stack(id+3), "locations depend on the address")
		require.Equal(t, id, s.SiteStack(s.Site(id)))
	}
}

// TestSitesWithoutFiles checks that an address outside of files is the same site only in its
// address space, and that the name identifies generated code.
func TestSitesWithoutFiles(t *testing.T) {
	perf := filepath.Join(t.TempDir(), "perf-1.map")
	require.NoError(t, os.WriteFile(perf, []byte("30000000 100 JS:*f /a.js:1:2\n30000100 100 JS:~f /a.js:1:2\n30000200 100 JS:*f /a.js:9:2\n"), 0o600))
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000010}, []uint64{0x30000110}, []uint64{0x30000210}, []uint64{0x30000f00}, []uint64{0x30000f01})
	s := resolve(t, series, Options{PerfMaps: []string{perf}})
	require.Equal(t, s.Site(0), s.Site(1), "the same function, compiled twice")
	require.Equal(t, 4, s.Sites(), "another line, and each unknown address, is another site")
}

// TestResultsDoNotDependOnWorkers checks that results do not depend on the number of workers.
func TestResultsDoNotDependOnWorkers(t *testing.T) {
	p := standard(t)
	maps := append(mapsOf(t, p.main, p.main, base), mapsOf(t, p.library, p.library, base+0x10000000)...)
	stack := append(loadedAt(callsOf(t, p.main), base), loadedAt(callsOf(t, p.library), base+0x10000000)...)
	series := seriesOf(t, maps, stack, stack[:3])
	one := resolve(t, series, Options{Workers: 1})
	require.Len(t, one.Modules, 2)
	require.Equal(t, one, resolve(t, series, Options{Workers: 7}))
}

// TestEmbeddedNames checks that the names in a symbolized snapshot are used if there is no other
// name.
func TestEmbeddedNames(t *testing.T) {
	one := seriesOf(t, []string{jitMaps}, []uint64{0x30000010, 0x30000020, 0x30000030})
	one.Symbols = map[series.Place]heapfile.Symbol{
		{Addr: 0x30000010}:           {Frames: []heapfile.FrameName{{Function: "inner"}, {Function: "outer"}}},
		{Addr: 0x3000001f}:           {Frames: []heapfile.FrameName{{Function: "_Z6byCallv"}}},
		{Image: 1, Addr: 0x30000030}: {Frames: []heapfile.FrameName{{Function: "ofAnotherImage"}}},
	}
	s := resolve(t, one, Options{PerfMaps: []string{}})
	at := func(i int) *Location { return &s.Locations[s.Stack(0)[i]] }
	require.Equal(t, []Frame{{Function: "inner", Inlined: true}, {Function: "outer"}}, at(0).Frames)
	require.Equal(t, SourceEmbedded, at(0).Source)
	require.Equal(t, []Frame{{Function: "byCall"}}, at(1).Frames, "the writer looked up the call before the return address")
	require.Equal(t, ReasonAnonymous, at(2).Reason)
}

func TestFilter(t *testing.T) {
	s := &Symbols{
		Modules: []Module{{Path: "/bin/program"}, {Path: "/lib/libc.so.6"}},
		Locations: []Location{
			{Frames: []Frame{{Function: "malloc"}}},
			{Frames: []Frame{{Function: "inlined", File: "/src/cache.cc"}, {Function: "leak"}}},
			{Module: 1, Offset: 0x1234},
		},
		stacks: []LocationID{0, 1, 2}, ends: []int{2, 3}, // stack 0: malloc, leak; stack 1: the unnamed location
	}
	for name, c := range map[string]struct {
		focus, ignore string
		keep          [2]bool
	}{
		"a function":            {"^leak$", "", [2]bool{true, false}},
		"an inlined function":   {"^inlined$", "", [2]bool{true, false}},
		"a file":                {`cache\.cc`, "", [2]bool{true, false}},
		"a module":              {`^/lib/libc\.so`, "", [2]bool{false, true}},
		"an unnamed address":    {`^libc\.so\.6\+0x1234$`, "", [2]bool{false, true}},
		"nothing":               {"^no such", "", [2]bool{false, false}},
		"not a function":        {"", "^malloc$", [2]bool{false, true}},
		"one and not the other": {"malloc|libc", "leak", [2]bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFilter(s, expression(c.focus), expression(c.ignore))
			for range 2 { // the second result is memoized
				require.Equal(t, c.keep, [2]bool{f.Keep(0), f.Keep(1)})
			}
		})
	}
	require.Nil(t, NewFilter(s, nil, nil))
	require.True(t, NewFilter(s, nil, nil).Keep(1), "without expressions, all stacks are kept")
}

func expression(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	return regexp.MustCompile(text)
}
