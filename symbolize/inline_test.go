package symbolize

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// Return addresses in the code of functions, by the map of TestInlinedJavaScript. The code of V8's interpreter (~), its
// baseline compiler (^) and its optimizing ones (+, *) differs.
const (
	nativeAlloc    = 0x30000080
	nativeFree     = 0x30000090
	builtin        = 0x30000100
	inInterpreter  = 0x30000110
	keepPlain      = 0x30000200
	keepOptimized  = 0x30000300
	otherPlain     = 0x30000400
	middlePlain    = 0x30000500
	tickPlain      = 0x30000600
	tickPlainElse  = 0x30000610
	tickBaseline   = 0x30000700
	tickOptimized  = 0x30000800
	tickCalls      = 0x30000810
	tickMaglev     = 0x30000900
	runOptimized   = 0x30000a00
	pythonHandle   = 0x30000b00
	anonymousPlain = 0x30000c00
	anonymousOther = 0x30000d00
)

const scriptMap = `30000078 10 nativeAlloc
30000088 10 nativeFree
300000f8 10 Builtin:Builtins_CEntry
30000108 10 Builtin:Builtins_InterpreterEntryTrampoline
300001f8 20 JS:~keep /srv/app.js:10:1
300002f8 20 JS:*keep /srv/app.js:10:1
300003f8 20 JS:^other /srv/app.js:20:1
300004f8 20 JS:~middle /srv/app.js:30:1
300005f8 20 JS:~tick /srv/app.js:40:1
300006f8 20 JS:^tick /srv/app.js:40:1
300007f8 20 JS:*tick /srv/app.js:40:1
300008f8 20 JS:+tick /srv/app.js:40:1
300009f8 20 JS:*run /srv/app.js:50:1
30000af8 20 py::handle:/srv/app.py
30000bf8 20 JS:~ /srv/app.js:60:1
30000cf8 20 JS:~ /srv/app.js:70:1
`

// TestInlinedJavaScript: frames of functions that V8 compiled into their caller are named by the stacks from before.
func TestInlinedJavaScript(t *testing.T) {
	whole := []uint64{nativeAlloc, builtin, keepPlain, tickPlain}
	inlined := []uint64{nativeAlloc, tickOptimized}
	for _, c := range []struct {
		name   string
		stacks [][]uint64
		want   string // the functions of the last stack, an inlined one with *
	}{
		{"compiled into its caller", [][]uint64{whole, inlined}, "nativeAlloc keep* tick"},
		{
			"whatever is on top of the caller", [][]uint64{append(slices.Clone(whole), runOptimized), inlined},
			"nativeAlloc keep* tick",
		},
		{"by Maglev", [][]uint64{whole, {nativeAlloc, tickMaglev}}, "nativeAlloc keep* tick"},
		{
			"and that into its own", [][]uint64{{nativeAlloc, keepPlain, middlePlain, tickPlain}, inlined},
			"nativeAlloc keep* middle* tick",
		},
		{
			"the stack from before has compiled code", [][]uint64{{nativeAlloc, keepOptimized, tickBaseline}, inlined},
			"nativeAlloc keep* tick",
		},
		{
			"the caller has called it directly before", [][]uint64{whole, {nativeAlloc, tickPlainElse}, inlined},
			"nativeAlloc tick",
		},
		{"not without optimization", [][]uint64{whole, {nativeAlloc, tickBaseline}}, "nativeAlloc tick"},
		{"another native function", [][]uint64{whole, {nativeFree, tickOptimized}}, "nativeFree tick"},
		{"another caller", [][]uint64{whole, {nativeAlloc, runOptimized}}, "nativeAlloc run"},
		{"one of two", [][]uint64{whole, {nativeAlloc, otherPlain, tickPlain}, inlined}, "nativeAlloc tick"},
		{
			"one of two, of which the compiled code calls the other one",
			[][]uint64{whole, {nativeAlloc, otherPlain, tickPlain}, {nativeAlloc, otherPlain, tickCalls}, inlined},
			"nativeAlloc keep* tick",
		},
		{
			"in one of two ways", [][]uint64{whole, {nativeAlloc, keepPlain, middlePlain, tickPlain}, inlined},
			"nativeAlloc keep* tick",
		},
		{
			"anonymous functions of different lines",
			[][]uint64{{nativeAlloc, anonymousPlain, tickPlain}, {nativeAlloc, anonymousOther, tickPlain}, inlined},
			"nativeAlloc tick",
		},
		{
			"an interpreted function that is not known", [][]uint64{{nativeAlloc, inInterpreter, keepPlain, tickPlain}, inlined},
			"nativeAlloc tick",
		},
		{
			"one address, two stacks",
			[][]uint64{whole, {nativeFree, otherPlain, tickPlain}, {nativeFree, tickOptimized}, inlined}, "nativeAlloc tick",
		},
		{"CPython inlines nothing", [][]uint64{{nativeAlloc, pythonHandle, tickPlain}, inlined}, "nativeAlloc tick"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perf-1.map")
			require.NoError(t, os.WriteFile(path, []byte(scriptMap), 0o600))
			s := resolve(t, seriesOf(t, []string{jitMaps}, c.stacks...), Options{PerfMaps: []string{path}})
			var got []string
			for _, id := range s.Stack(heapfile.StackID(len(c.stacks) - 1)) {
				for _, f := range s.Locations[id].Frames {
					got = append(got, f.Function+map[bool]string{true: "*"}[f.Inlined])
				}
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// TestInlinedJavaScriptIsOneSite: a stack is the same whether a function was compiled into its caller or not.
func TestInlinedJavaScriptIsOneSite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perf-1.map")
	require.NoError(t, os.WriteFile(path, []byte(scriptMap), 0o600))
	before, after := []uint64{nativeAlloc, keepPlain, tickPlain}, []uint64{nativeAlloc, tickOptimized}
	series := seriesOf(t, []string{jitMaps}, before, after)
	s := resolve(t, series, Options{PerfMaps: []string{path}})
	require.Equal(t, 1, s.Sites())
}
