package siteview

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

func frame(function, file string, line int) symbolize.Frame {
	return symbolize.Frame{Function: function, Module: "/opt/shop/bin/shopd", File: file, Line: line}
}

func TestViewOfARun(t *testing.T) {
	v := OfRun(&baseline.Site{Blame: 1, Frames: []symbolize.Frame{
		frame("operator new", "", 0), frame("Cache::insert", "/src/cache.cc", 7), frame("walk", "/src/tree.cc", 3), frame("walk", "/src/tree.cc", 9),
		frame("shopd+0x12", "", 0), frame("main", "", 0),
	}}, 1)
	require.Equal(t, "Cache::insert cache.cc:7", v.Heading())
	require.Equal(t, Blame{Function: "Cache::insert", Module: "/opt/shop/bin/shopd", File: "/src/cache.cc", Line: 7}, v.Blame)
	callers, shared := v.Callers()
	require.True(t, shared)
	require.Equal(t, []Caller{{"walk", "tree.cc:3"}, {"shopd+0x12", ""}, {"main", "shopd"}}, callers, "recursion is folded")
	require.Equal(t, "← walk tree.cc:3 ← shopd+0x12 ← main shopd", v.CallPath(0))
	require.Empty(t, v.Advice(false))
}

func TestViewWithoutNames(t *testing.T) {
	require.Equal(t, "(no stack)", OfRun(nil, 0).Title())
	require.Equal(t, "(no stack)", OfRun(&baseline.Site{Blame: -1, Frames: []symbolize.Frame{frame("f", "", 0)}}, 1).Heading())
	require.Equal(t, "(no stack)", OfRun(&baseline.Site{Blame: 1, Frames: []symbolize.Frame{frame("f", "", 0)}}, 1).Heading(), "a damaged baseline")
	require.Equal(t, "somewhere in shopd shopd", OfRun(&baseline.Site{Frames: []symbolize.Frame{frame("", "", 0)}}, 1).Heading())
	require.Equal(t, "(no name)", OfRun(&baseline.Site{Frames: []symbolize.Frame{{}}}, 1).Heading())
}

// TestCallPathFitsAWidth and has at least one caller and at most four. Names are shortened before
// callers are left out.
func TestCallPathFitsAWidth(t *testing.T) {
	s := &baseline.Site{Frames: []symbolize.Frame{frame("f", "", 0)}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.Frames = append(s.Frames, frame(strings.Repeat(name, 20), "/src/x.cc", 1))
	}
	for width, callers := range map[int]int{0: 4, 29: 1, 58: 1, 59: 2, 90: 3, 200: 4} {
		path := OfRun(s, 1).CallPath(width)
		require.Equal(t, callers, strings.Count(path, "←"), "%d characters: %s", width, path)
	}
	require.Equal(t, "← aaaaaaaaaaaaaaaaaaaa x.cc:1", OfRun(s, 1).CallPath(16), "it is longer")
	s.Frames[1].Function = strings.Repeat("a", 100)
	require.Equal(t, "← "+strings.Repeat("a", 18)+"…"+strings.Repeat("a", 9)+" x.cc:1 ← bbbbbbbbbbbbbbbbbbbb x.cc:1", OfRun(s, 1).CallPath(67))
	const least = 69 // of one caller
	for width := 1; width < 300; width++ {
		require.LessOrEqual(t, utf8.RuneCountInString(OfRun(s, 12).CallPath(width)), max(width, least))
		require.LessOrEqual(t, utf8.RuneCountInString(fitted(OfRun(&baseline.Site{Frames: s.Frames[1:]}, 12), width)), width)
	}
	require.True(t, strings.HasSuffix(OfRun(s, 3).CallPath(0), " x.cc:1  (the largest of 3 call paths)"))
	require.Equal(t, "(the largest of 3 call paths)", OfRun(&baseline.Site{Frames: s.Frames[:1]}, 3).CallPath(0))
}

// TestCallersPassOverRuntimes: between a function and its callers, frames of the C++ library tell
// nothing.
func TestCallersPassOverRuntimes(t *testing.T) {
	s := &baseline.Site{Frames: []symbolize.Frame{
		frame("work", "/src/a.cc", 1), frame("std::__invoke_impl<void, void (*)()>", "/usr/include/c++/12/bits/invoke.h", 61),
		frame("std::thread::_State_impl<int>::_M_run", "/usr/include/c++/12/bits/std_thread.h", 211), frame("serve", "/src/a.cc", 9),
		{Function: "libc.so.6+0x891f4", Module: "/lib/libc.so.6"}, frame("plugin+0x12", "", 0), frame("clone3", "", 0),
	}}
	require.Equal(t, "← serve a.cc:9 ← plugin+0x12 shopd", OfRun(s, 1).CallPath(0))
	s.Blame = 1
	require.Equal(t, 4, strings.Count(OfRun(s, 1).CallPath(0), "←"), "a runtime is blamed if there is nothing else: all callers count")
}

// described resolves stacks of addresses without symbols and returns a describer and the sites of
// the stacks. Addresses from 0x401000 on are in /opt/server, those from 0x501000 on in
// /lib/libx.so.
func described(t *testing.T, o Options, stacks ...string) (*Describer, []symbolize.SiteID) {
	t.Helper()
	var rows strings.Builder
	for _, s := range stacks {
		rows.WriteString("     1:     4096 [     1:     4096] @ " + s + "\n")
	}
	text := "heap profile:      9:    99999 [     9:    99999] @ heapprofile\n" + rows.String() +
		"\nMAPPED_LIBRARIES:\n400000-500000 r-xp 00000000 00:00 100 /opt/server\n500000-600000 r-xp 00000000 00:00 101 /lib/libx.so\n"
	return resolved(t, o, filepath.Join(t.TempDir(), "p.0001.heap"), text, len(stacks))
}

// resolved writes a snapshot and returns a describer and the sites of its stacks. No file of a
// program exists.
func resolved(t *testing.T, o Options, file, text string, stacks int) (*Describer, []symbolize.SiteID) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s, err := series.Open([]string{file}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: t.TempDir()})
	require.NoError(t, err)
	var ids []symbolize.SiteID
	for i := range stacks {
		ids = append(ids, symbols.Site(heapfile.StackID(i)))
	}
	return NewDescriber(symbols, o), ids
}

// TestFilesAreToldApart: the files of callers, too, have as much of their paths as tells them apart.
func TestFilesAreToldApart(t *testing.T) {
	dir := t.TempDir()
	frames := `{"schema":"heaplapse.frames/1","pid":7,"image":0,"start_ns":0}` + "\n"
	for address, frame := range map[string][2]string{
		"0x100000000000010": {"render", "/srv/services/catalog.py"},
		"0x100000000000020": {"product", "/srv/routes/catalog.py"},
		"0x100000000000030": {"main", "/srv/main.py"},
	} {
		frames += fmt.Sprintf(`{"address":%q,"function":%q,"file":%q,"line":1}`, address, frame[0], frame[1]) + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.7.frames.jsonl"), []byte(frames), 0o600))
	d, ids := resolved(t, Options{}, filepath.Join(dir, "p_7.0001.heap"), "heap profile: 1: 10 [1: 10] @ heapprofile/1\n"+
		"1: 10 [1: 10] @ 0x100000000000010 0x100000000000020 0x100000000000030\n", 1)
	require.Equal(t, "catalog.py:1", d.View(ids).Where)
	d.TellApart(ids)
	require.Equal(t, "services/catalog.py:1", d.View(ids).Where)
	require.Equal(t, "← product routes/catalog.py:1 ← main main.py:1", d.View(ids).CallPath(0))
}

// TestSharedCallers are those of all call paths; if there are none, the largest call path is shown.
func TestSharedCallers(t *testing.T) {
	d, ids := described(t, Options{}, "0x401011 0x402011 0x403011 0x404011", "0x401011 0x402011 0x403011 0x405011", "0x401011 0x402011 0x407011", "0x401011 0x409011")
	require.Equal(t, "← server+0x2011 ← server+0x3011 ← server+0x4011", d.View(ids[:1]).CallPath(0))
	require.Equal(t, "← server+0x2011 ← server+0x3011  (2 call paths)", d.View(ids[:2]).CallPath(0))
	require.Equal(t, "← server+0x2011  (3 call paths)", d.View(ids[:3]).CallPath(0))
	require.Equal(t, "← server+0x2011 ← server+0x3011 ← server+0x4011  (the largest of 4 call paths)", d.View(ids).CallPath(0))
}

// TestAProgramIsCalledByItsLink, not by the file that the link leads to, except by its version.
func TestAProgramIsCalledByItsLink(t *testing.T) {
	for link, want := range map[string]string{"/usr/bin/shop": "shop", "/usr/bin/serve": "server", "": "server"} {
		d, ids := described(t, Options{}, "0x401011 0x402011 0x501011")
		d.symbols.Modules[0].Link = link
		v := d.View(ids)
		require.Equal(t, want+"+0x1011", v.Heading())
		require.Equal(t, "/opt/server", v.Blame.Module, "programs read the path of the file")
		require.Equal(t, "← "+want+"+0x2011 ← libx.so+0x1011", v.CallPath(0))
	}
}

func TestUnnamedSites(t *testing.T) {
	d, ids := described(t, Options{}, "0x401011 0x501011")
	v := d.View(ids)
	require.Equal(t, "server+0x1011", v.Heading())
	require.Equal(t, "server+0x1011", v.Blame.Function)
	require.Contains(t, v.Blame.Remedy, "/opt/server was not found")
	require.True(t, strings.HasPrefix(v.Unnamed, "unnamed: "), v.Unnamed)
	frames := d.Frames(ids)
	require.Len(t, frames, 2)
	require.Equal(t, FrameJSON{Address: "0x401011", Module: "/opt/server", Offset: "0x1011", Reason: frames[0].Reason}, frames[0])
}

// TestGroupsNameTheirLargestFunction: rows are modules, but a reader needs a function.
func TestGroupsNameTheirLargestFunction(t *testing.T) {
	d, ids := described(t, Options{GroupBy: sites.ByModule}, "0x501011 0x401011")
	require.Equal(t, "libx.so, most of it libx.so+0x1011", d.View(ids).Title())
}

// fitted is the title and the place of a view in a width in columns.
func fitted(v View, width int) string { return text.Fit(v.Title(), v.Where, width) }
