package jit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// fixtures returns the files of testdata that versions of Node wrote; see its README.
func fixtures(t testing.TB, ext string) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/node*." + ext)
	require.NoError(t, err)
	require.Len(t, found, 4)
	return found
}

func readFile(t testing.TB, path string) *Map {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := Read(f, path)
	require.NoError(t, err)
	return m
}

// TestNodeVersions: the perf maps and the jitdumps of all versions of Node have the same functions,
// files and lines.
func TestNodeVersions(t *testing.T) {
	type function struct{ name, file string }
	first := map[function]int{ // the line where each begins
		{"hot", "/srv/hot.js"}: 2, {"get size", "/srv/hot.js"}: 10, {"two words", "/srv/hot.js"}: 11, {"record", "/srv/hot.js"}: 9,
		{"(anonymous)", "/srv/hot.js"}: 1, {"evaled", ""}: 1, {"inVM", "my file.js"}: 1,
	}
	for _, path := range append(fixtures(t, "map"), fixtures(t, "dump.gz")...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			m := readFile(t, path)
			require.Equal(t, strings.HasSuffix(path, "dump.gz"), m.Kind == JITDump)
			left := map[function]int{}
			for f, line := range first {
				left[f] = line
			}
			for _, e := range m.entries {
				requireWithoutTag(t, e.name)
				f := parseName(e.name)
				key := function{f.Function, f.File}
				if first[key] == f.Line {
					delete(left, key)
				}
				requireInScript(t, m, e)
			}
			require.Empty(t, left)
		})
	}
}

// requireWithoutTag fails if a name is shown with V8's tag or mark although it is that of a
// function of a script.
func requireWithoutTag(t *testing.T, name string) {
	t.Helper()
	f := parseName(name)
	require.NotEmpty(t, f.Function)
	for _, kept := range []string{"Builtin:", "BytecodeHandler:", "RegExp:", "RegExp.>", "Stub:"} {
		if strings.HasPrefix(name, kept) {
			require.Equal(t, Symbol{Function: name}, f)
			return
		}
	}
	require.NotRegexp(t, `^[A-Za-z]+:|^[~^+*']|-(liftoff|turbofan)$`, f.Function)
	require.True(t, f.Line > 0 || strings.Contains(name, "wasm-function"), name)
}

// requireInScript fails if the function "hot" has a line outside of its body at any address.
func requireInScript(t *testing.T, m *Map, e entry) {
	t.Helper()
	if parseName(e.name).Function != "hot" {
		return
	}
	for addr := e.start; addr < e.start+e.size; addr++ {
		f, ok := m.Find(addr)
		require.True(t, ok)
		if f.Function == "hot" { // else the memory was used again
			require.Equal(t, "/srv/hot.js", f.File)
			require.True(t, 2 <= f.Line && f.Line <= 6, "line %d", f.Line)
		}
	}
}

// TestJITDumpOfNode: the jitdump of a real process has the functions of its perf map, which V8
// writes independently.
func TestJITDumpOfNode(t *testing.T) {
	node := testutil.Need(t, "node")
	dir := t.TempDir()
	script := filepath.Join(dir, "hot.js")
	require.NoError(t, os.WriteFile(script, []byte(`function hot(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s += i % 7;
  return s;
}
let t = 0;
for (let i = 0; i < 2000; i++) t += hot(20000);
require("fs").copyFileSync("/tmp/perf-" + process.pid + ".map", "perf.map");
require("fs").unlinkSync("/tmp/perf-" + process.pid + ".map");
`), 0o600))
	command := exec.Command(node, "--perf-prof", "--perf-basic-prof", script)
	command.Dir = dir
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	dumps, err := filepath.Glob(filepath.Join(dir, "jit-*.dump"))
	require.NoError(t, err)
	require.Len(t, dumps, 1, "node --perf-prof writes one")
	dump, text := readFile(t, dumps[0]), readFile(t, filepath.Join(dir, "perf.map"))
	known := map[string]bool{}
	for _, e := range dump.entries {
		known[fmt.Sprintf("%x %x", e.start, e.size)] = true
	}
	require.Greater(t, len(text.entries), 100)
	hot := 0
	for _, e := range text.entries {
		if !known[fmt.Sprintf("%x %x", e.start, e.size)] {
			require.Contains(t, e.name, ":~", "%s is not in the jitdump", e.name)
			continue // interpreted functions have no code, which a jitdump holds
		}
		if strings.Contains(e.name, "hot ") {
			f, ok := dump.Find(e.start)
			require.True(t, ok)
			require.Equal(t, "hot", f.Function)
			require.Equal(t, script, f.File)
			require.GreaterOrEqual(t, f.Line, 1)
			require.LessOrEqual(t, f.Line, 5)
			hot++
		}
	}
	require.NotZero(t, hot)
}
