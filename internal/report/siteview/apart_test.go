package siteview

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDistinct: each list has what tells it from the others, and not what all have.
func TestDistinct(t *testing.T) {
	for lists, want := range map[string]string{
		"a b c|a b d":           "c|d",
		"a b|a b c":             "|c",
		"a b|a b":               "|",
		"a x y|a x z|a w":       "x y|x z|w",
		"1 2 3 4 5|1 2 3 4 6|0": "1 … 5|1 … 6|0",
	} {
		var in [][]string
		for list := range strings.SplitSeq(lists, "|") {
			in = append(in, strings.Fields(list))
		}
		require.Equal(t, want, strings.Join(distinct(in, " "), "|"), lists)
	}
}

// TestStackKey: a stack has the same key in all processes, where other addresses stand for its files and its lines.
func TestStackKey(t *testing.T) {
	key := func(native, script FrameJSON) any { return stackKey([]FrameJSON{native, script}) }
	native := FrameJSON{Address: "0x7f00", Module: "/usr/bin/python3", Offset: "0x1d3143"}
	line := FrameJSON{Address: "0x100000000000020", Function: "handle", File: "/srv/app.py", Line: 14}
	elsewhere, again := native, line
	elsewhere.Address, again.Address = "0x5500", "0x100000000000090"
	require.Equal(t, key(native, line), key(elsewhere, again))
	again.Line = 15
	require.NotEqual(t, key(native, line), key(native, again))
	elsewhere.Offset = "0x1d3150"
	require.NotEqual(t, key(native, line), key(elsewhere, line))
	require.NotEqual(t, key(FrameJSON{Address: "0x1"}, line), key(FrameJSON{Address: "0x2"}, line), "generated code")
}
