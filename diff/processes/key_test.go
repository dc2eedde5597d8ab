package processes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// keyOf returns the key of a site on a stack of two addresses, which are locations as given.
func keyOf(t *testing.T, by sites.GroupBy, leaf, caller symbolize.Location) Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.0001.heap")
	const snapshot = "heap profile: 1: 2 [ 1: 2] @ heapprofile\n1: 2 [ 1: 2] @ 0x401000 0x402000\n\nMAPPED_LIBRARIES:\n"
	require.NoError(t, os.WriteFile(path, []byte(snapshot), 0o600))
	s, err := series.Open([]string{path}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	symbols, err := symbolize.Resolve(t.Context(), s, symbolize.Options{Sysroot: t.TempDir()})
	require.NoError(t, err)
	s.Process.Exe = "/usr/bin/python3"
	symbols.Modules = []symbolize.Module{{Path: "/usr/bin/python3"}}
	symbols.Locations = []symbolize.Location{leaf, caller}
	return NewKeys(s, symbols, nil, by).Of(&growth.Site{Members: []symbolize.SiteID{0}})
}

func native(address, offset uint64) symbolize.Location {
	return symbolize.Location{Address: heapfile.Addr(address), Offset: offset, Reason: symbolize.ReasonNoSymbols}
}

func script(address uint64, line int) symbolize.Location {
	return symbolize.Location{
		Address: heapfile.Addr(address), Offset: address, Module: symbolize.NoModule, Source: symbolize.SourceFrames,
		Frames: []symbolize.Frame{{Function: "handle", File: "/srv/app.py", Line: line}},
	}
}

// TestLinesArePooledApart: two lines of a Python function are two sites. A cache on one of them
// does not get the evidence of a leak on the other. A native function is one site.
func TestLinesArePooledApart(t *testing.T) {
	main := native(0x7f00, 0x1d3143)
	require.Equal(t, keyOf(t, sites.ByFunction, script(1, 21), main), keyOf(t, sites.ByFunction, script(2, 21), main))
	require.NotEqual(t, keyOf(t, sites.ByFunction, script(1, 21), main), keyOf(t, sites.ByFunction, script(2, 22), main))
	at := func(line int) symbolize.Location {
		return symbolize.Location{Frames: []symbolize.Frame{{Function: "f", File: "/src/f.c", Line: line}}}
	}
	require.Equal(t, keyOf(t, sites.ByFunction, at(21), main), keyOf(t, sites.ByFunction, at(22), main))
	require.NotEqual(t, keyOf(t, sites.ByStack, at(21), main), keyOf(t, sites.ByStack, at(22), main))
	require.Equal(t, "f.c", keyOf(t, sites.ByFile, at(21), main).Group)
	require.Equal(t, "python3", keyOf(t, sites.ByModule, at(21), main).Group)
}

// TestStackKey: a stack has the same key in all processes, where other addresses stand for its
// files and its lines.
func TestStackKey(t *testing.T) {
	key := func(leaf, caller symbolize.Location) Key { return keyOf(t, sites.ByStack, leaf, caller) }
	want := key(script(0x20, 14), native(0x7f00, 0x1d3143))
	require.Equal(t, want, key(script(0x90, 14), native(0x5500, 0x1d3143)))
	require.NotEqual(t, want, key(script(0x20, 15), native(0x7f00, 0x1d3143)))
	require.NotEqual(t, want, key(script(0x20, 14), native(0x7f00, 0x1d3150)))
	generated := func(address uint64) symbolize.Location {
		return symbolize.Location{Address: heapfile.Addr(address), Module: symbolize.NoModule, Reason: symbolize.ReasonNoMapping}
	}
	require.NotEqual(t, key(script(0x20, 14), generated(1)), key(script(0x20, 14), generated(2)))
}
