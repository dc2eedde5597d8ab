package growth_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
)

// Return addresses in generated code, by the map of generatedSeries, and one in a program without symbols.
const (
	keepOrder = " 0x7f0000000108"
	tick      = " 0x7f0000000208"
	run       = " 0x7f0000000308"
	serve     = " 0x7f0000000408"
	load      = " 0x7f0000000508"
	handle    = " 0x7f0000000608"
	first90   = " 0x7f0000000708"
	first95   = " 0x7f0000000808"
	native    = " 0x00400108"
)

// generatedSeries writes 24 snapshots with call paths through generated code.
func generatedSeries(t *testing.T, paths ...callPath) string {
	t.Helper()
	dir := madeUpOf(t, 24, paths...)
	const names = `7f0000000100 40 LazyCompile:~keepOrder /srv/app.js:10
7f0000000200 40 LazyCompile:*tick /srv/app.js:33
7f0000000300 40 LazyCompile:*run /srv/app.js:50
7f0000000400 40 LazyCompile:*serve /srv/app.js:60
7f0000000500 40 py::load:/srv/app.py
7f0000000600 40 py::handle:/srv/app.py
7f0000000700 40 LazyCompile:* /srv/app.js:90
7f0000000800 40 LazyCompile:* /srv/app.js:95
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "perf-1.map"), []byte(names), 0o600))
	return dir
}

// TestAFunctionCompiledIntoItsCaller: keepOrder leaks. V8 compiles it into tick after 20 of 24 snapshots, so that its
// call path ends, and that of tick begins.
func TestAFunctionCompiledIntoItsCaller(t *testing.T) {
	const each = 256 << 10
	all := func(i int) int { return i * each }
	until := func(i int) int { return min(i, 20) * each }
	first := func(i int) int { return min(i, 12) * each }
	then := func(i int) int { return min(8, max(0, i-12)) * each }
	falls := func(i int) int { return min(i, 20)*each - max(0, i-20)*each/2 }
	since := func(i int) int { return max(0, i-20) * each }
	early := func(i int) int { return 4096 + since(i) }
	fast := func(i int) int { return 3 * since(i) }
	slow := func(i int) int { return since(i) / 4 }
	little := func(i int) int { return min(2*each, then(i)) }
	for _, c := range []struct {
		name  string
		paths []callPath
		by    sites.GroupBy
		want  map[string]int // the growth of each site
	}{
		{
			"compiled into its caller", []callPath{{keepOrder + tick + run, until}, {tick + run, since}},
			"", map[string]int{"keepOrder": 23 * each},
		},
		{
			"and that into its own", []callPath{{keepOrder + tick + run, until}, {run, since}},
			"", map[string]int{"keepOrder": 23 * each},
		},
		{
			"one after the other", []callPath{{keepOrder + tick + run, first}, {tick + run, then}, {run, since}},
			"", map[string]int{"keepOrder": 23 * each},
		},
		{
			"single call paths", []callPath{{keepOrder + tick + run, until}, {tick + run, since}},
			sites.ByStack, map[string]int{"keepOrder": 20 * each, "tick": 3 * each},
		},
		{
			"it goes on itself", []callPath{{keepOrder + tick + run, all}, {tick + run, since}},
			"", map[string]int{"keepOrder": 23 * each, "tick": 3 * each},
		},
		{
			"its caller has allocated before", []callPath{{keepOrder + tick + run, until}, {tick + run, early}},
			"", map[string]int{"keepOrder": 20 * each, "tick": 3 * each},
		},
		{
			"it had stopped long before", []callPath{{keepOrder + tick + run, first}, {tick + run, since}},
			"", map[string]int{"keepOrder": 12 * each, "tick": 3 * each},
		},
		{
			"it is freed meanwhile", []callPath{{keepOrder + tick + run, falls}, {tick + run, since}},
			"", map[string]int{"keepOrder": 37 * each / 2, "tick": 3 * each},
		},
		{
			"its caller allocates much faster", []callPath{{keepOrder + tick + run, until}, {tick + run, fast}},
			"", map[string]int{"keepOrder": 20 * each, "tick": 9 * each},
		},
		{
			"its caller allocates much more slowly", []callPath{{keepOrder + tick + run, until}, {tick + run, slow}},
			// The last snapshot looks like one of the exit.
			"", map[string]int{"keepOrder": 20 * each, "tick": each / 2},
		},
		{
			"an interpreter has frames of its own", []callPath{{load + native + handle + run, until}, {handle + run, since}},
			"", map[string]int{"load": 20 * each, "handle": 3 * each},
		},
		{
			"an anonymous function of another line", []callPath{{keepOrder + first90 + run, until}, {first95 + run, since}},
			"", map[string]int{"keepOrder": 20 * each, "(anonymous)": 3 * each},
		},
		{
			"together they are no leak", []callPath{{keepOrder + tick + run, first}, {tick + run, little}},
			"", map[string]int{"keepOrder": 12 * each, "tick": 2 * each},
		},
		{
			"another caller", []callPath{{keepOrder + tick + run, until}, {serve + run, since}},
			"", map[string]int{"keepOrder": 20 * each, "serve": 3 * each},
		},
		{
			"another function that allocates", []callPath{{keepOrder + tick + run, until}, {native + tick + run, since}},
			"", map[string]int{"keepOrder": 20 * each, "program+0x108": 3 * each},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := judge(t, generatedSeries(t, c.paths...), "/nonexistent", growth.Options{All: true, GroupBy: c.by})
			got := map[string]int{}
			for _, s := range j.Sites {
				got[j.blamed(s)] = int(s.Gained)
			}
			require.Equal(t, c.want, got)
		})
	}
}
