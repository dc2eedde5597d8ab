//go:build linux

package engine

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/record/channel"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// python is an interpreter of version 3.minor.
type python struct {
	path  string
	minor int
	free  bool // a free-threaded build
}

// isSupported reports whether the engine records the interpreter's frames.
func (p python) isSupported() bool { return p.minor >= 8 && p.minor <= 14 && !p.free }

// interpreters returns the interpreter of the distribution, and those of pyenv.
func interpreters(t *testing.T) (list []python) {
	t.Helper()
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	require.NoError(t, err)
	for _, path := range append([]string{testutil.Need(t, "python3")}, more...) {
		if p := pythonAt(t, path); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// pythons returns the interpreters that the engine supports.
func pythons(t *testing.T) []python {
	t.Helper()
	return slices.DeleteFunc(interpreters(t), func(p python) bool { return !p.isSupported() })
}

// pythonAt returns the interpreter that a path, or a script at the path, runs.
func pythonAt(t *testing.T, path string) (p python) {
	t.Helper()
	const script = `import sys, sysconfig
print(sys.executable, sys.version_info[1], bool(sysconfig.get_config_var("Py_GIL_DISABLED")))`
	out, err := exec.Command(path, "-c", script).Output()
	require.NoError(t, err, path)
	_, err = fmt.Sscan(string(out), &p.path, &p.minor, &p.free)
	require.NoError(t, err, string(out))
	p.path, err = filepath.EvalSymlinks(p.path)
	require.NoError(t, err)
	return p
}

// pythonRun is what a program left behind: its last snapshot, and the names in it.
type pythonRun struct {
	snapshot *heapfile.Snapshot
	names    map[uint64]frameName
	problems []string
	output   string // of the program
}

// recordPython runs an interpreter under the engine.
func recordPython(t *testing.T, settings string, env []string, program string, args ...string) pythonRun {
	t.Helper()
	engine := engineFile(t)
	prefix := filepath.Join(t.TempDir(), "p")
	receiver, err := channel.Listen(prefix)
	require.NoError(t, err)
	output := runProgram(t, append([]string{
		"LD_PRELOAD=" + engine, Variable + "=every=0 children=2 patience=60000 main=0000000 " + settings + " " + receiver.Settings(),
	}, env...), program, args...)
	require.NoError(t, receiver.Close())

	snapshots, err := filepath.Glob(prefix + "_*.heap")
	require.NoError(t, err)
	require.NotEmpty(t, snapshots)
	slices.Sort(snapshots)
	r := pythonRun{output: output}
	r.snapshot, err = heapfile.ReadFile(snapshots[len(snapshots)-1])
	require.NoError(t, err)
	frames, err := filepath.Glob(prefix + ".*.frames.jsonl")
	require.NoError(t, err)
	require.Len(t, frames, 1)
	_, r.names = frameNames(t, frames[0])
	events, err := filepath.Glob(prefix + ".*.events.jsonl")
	require.NoError(t, err)
	text, err := os.ReadFile(events[0])
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"problem"`) {
			r.problems = append(r.problems, line)
		}
	}
	return r
}

// line is a line of a Python program.
type line struct {
	file     string
	line     int
	function string
}

// stack returns the Python frames of a row, innermost first.
func (r pythonRun) stack(s heapfile.Sample) (frames []line) {
	for _, a := range r.snapshot.Stacks.Addrs(s.Stack) {
		if f, ok := r.names[uint64(a)]; ok && (f.File != "" || f.Function == "[recursion]") {
			frames = append(frames, line{f.File, f.Line, f.Function})
		}
	}
	return frames
}

// byLine returns what the innermost Python frames have in use.
func (r pythonRun) byLine() map[line]int64 {
	sums := map[line]int64{}
	for _, s := range r.snapshot.Samples {
		if frames := r.stack(s); len(frames) > 0 {
			sums[frames[0]] += s.InuseBytes
		}
	}
	return sums
}

// marks returns the lines of a Python program with a comment "leak NAME", by name.
func marks(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := map[string]int{}
	for i, s := range strings.Split(string(text), "\n") {
		if _, name, ok := strings.Cut(s, "# leak "); ok {
			lines[name] = i + 1
		}
	}
	return lines
}

// functionsOfLeaks are the functions of leaks.py that allocate: their names up to 3.10, and their
// qualified names.
var functionsOfLeaks = map[string][2]string{
	"plain":         {"plain", "plain"},
	"method":        {"method", "Cache.method"},
	"classmethod":   {"make", "Cache.make"},
	"comprehension": {"<listcomp>", "comprehension.<locals>.<listcomp>"},
	"generator":     {"generate", "generate"},
	"nested":        {"inner", "nested.<locals>.inner"},
	"callback":      {"key", "callback.<locals>.key"},
	"foreign":       {"compare", "foreign.<locals>.compare"},
	"native":        {"native", "native"},
	"threaded":      {"work", "threaded.<locals>.work"},
	"task":          {"one", "tasks.<locals>.one"},
	"recursion":     {"down", "recursion.<locals>.down"},
	"unicode":       {"größe", "größe"},
	"lambda":        {"<lambda>", "partial.<locals>.<lambda>"},
}

// wantedLines returns where leaks.py allocates.
func wantedLines(t *testing.T, script string, minor int) map[string]line {
	t.Helper()
	const qualified, inlined = 11, 12 // versions
	lines := map[string]line{"source": {"made up.py", 5, "run"}}
	for name, at := range marks(t, script) {
		functions, ok := functionsOfLeaks[name]
		require.True(t, ok, name)
		l := line{script, at, functions[0]}
		if minor >= qualified {
			l.function = functions[1]
		}
		if name == "comprehension" && minor >= inlined {
			l.function = "comprehension"
		}
		lines[name] = l
	}
	require.Len(t, lines, len(functionsOfLeaks)+1)
	return lines
}

// The objects of a program that hardly calls malloc are recorded, rather than the arenas that they
// are in, 35 MiB. With this period, nothing but mappings is recorded.
func TestPythonIsFoundByItsArenas(t *testing.T) {
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1099511627776", nil, p.path, "-I", "-S", "testdata/small.py")
			require.Empty(t, r.problems)
			require.Less(t, r.snapshot.Total.AllocBytes, int64(8<<20))
		})
	}
}

// Each version of CPython: every allocation has the right function, file and line.
func TestPythonLines(t *testing.T) {
	script, err := filepath.Abs("testdata/leaks.py")
	require.NoError(t, err)
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1", nil, p.path, script, "300")
			require.Empty(t, r.problems)
			checkLines(t, r, wantedLines(t, script, p.minor), 300*200)
		})
	}
}

// checkLines compares the lines of leaks.py. On some lines, list and task objects are allocated, too.
func checkLines(t *testing.T, r pythonRun, want map[string]line, bytes int64) {
	t.Helper()
	got := r.byLine()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		most := bytes + bytes/100
		if name == "comprehension" || name == "task" {
			most = 2 * bytes
		}
		at := want[name]
		require.GreaterOrEqual(t, got[at], bytes, "%s %+v", name, at)
		require.LessOrEqual(t, got[at], most, "%s %+v", name, at)
	}
	checkCallers(t, r, want)
}

// checkCallers checks the callers of some lines: across C functions, and at the depth limit.
func checkCallers(t *testing.T, r pythonRun, want map[string]line) {
	t.Helper()
	callers := map[string]string{"callback": "callback", "foreign": "foreign", "generator": "generator"}
	seen := map[string]bool{}
	for _, s := range r.snapshot.Samples {
		frames := r.stack(s)
		for name, caller := range callers {
			if len(frames) > 2 && frames[0] == want[name] {
				require.Equal(t, caller, frames[1].function)
				require.Equal(t, "main", frames[2].function)
				seen[name] = true
			}
		}
		if len(frames) > 0 && frames[0] == want["recursion"] {
			require.Contains(t, frames, line{function: "[recursion]"})
			require.Contains(t, frames[len(frames)-1].function, "_bootstrap")
			seen["recursion"] = true
		}
	}
	require.Len(t, seen, len(callers)+1)
}

// Other allocators of CPython, and other tools that replace it. The development mode is tried with
// each version.
func TestPythonAllocators(t *testing.T) {
	script, err := filepath.Abs("testdata/leaks.py")
	require.NoError(t, err)
	for i, p := range pythons(t) {
		for name, c := range map[string]struct {
			env  []string
			args []string
		}{
			"dev":          {nil, []string{"-X", "dev"}},
			"tracemalloc":  {nil, []string{"-X", "tracemalloc=3"}},
			"debug":        {[]string{"PYTHONMALLOC=debug"}, nil},
			"malloc":       {[]string{"PYTHONMALLOC=malloc"}, nil},
			"malloc_debug": {[]string{"PYTHONMALLOC=malloc_debug"}, nil},
		} {
			if i > 0 && name != "dev" && !testutil.Full() {
				continue
			}
			t.Run(fmt.Sprintf("3.%d %s", p.minor, name), func(t *testing.T) {
				t.Parallel()
				env := append(c.env, "PYTHONWARNINGS=ignore")
				r := recordPython(t, "period=1", env, p.path, append(c.args, script, "200")...)
				require.Empty(t, r.problems)
				checkLines(t, r, wantedLines(t, script, p.minor), 200*200)
			})
		}
	}
}

// tracemalloc is switched on and off while the program runs: no object is lost or counted twice.
func TestPythonTracemalloc(t *testing.T) {
	script := filepath.Join(t.TempDir(), "toggle.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import sys, time, tracemalloc
kept = []
def leak():
    for _ in range(500):
        kept.append(bytes(200 - sys.getsizeof(b"")))  # leak toggle
for i in range(4):
    leak()
    tracemalloc.start()
    time.sleep(0.06)
    [bytearray(100000) for _ in range(10)]
    leak()
    tracemalloc.stop()
    time.sleep(0.06)
    [bytearray(100000) for _ in range(10)]
`), 0o644))
	p := pythons(t)[0]
	r := recordPython(t, "period=1", nil, p.path, script)
	require.Empty(t, r.problems)
	at := marks(t, script)["toggle"]
	var sum int64
	for l, bytes := range r.byLine() {
		if l.line == at {
			sum += bytes
		}
	}
	const want = 8 * 500 * 200
	require.InDelta(t, want, sum, want/5) // the list is allocated on the same line
	require.GreaterOrEqual(t, sum, int64(want))
}

// Sampled at 64 KiB, the growth of a program is within 15 % of the truth.
func TestPythonGrowth(t *testing.T) {
	script := filepath.Join(t.TempDir(), "grow.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import sys
kept = [None] * 200000
def grow():
    size = 200 - sys.getsizeof(b"")
    for i in range(len(kept)):
        kept[i] = bytes(size)  # leak grow
grow()
`), 0o644))
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=65536", nil, p.path, script)
			require.Empty(t, r.problems)
			const want = 200000 * 200
			got := r.byLine()[line{script, marks(t, script)["grow"], "grow"}]
			require.InEpsilon(t, want, got, 0.15)
			t.Log(strconv.FormatFloat(float64(got)/want, 'f', 3, 64))
		})
	}
}

// TestPythonEnds: the recorder looks at a process once, before CPython frees what modules hold.
func TestPythonEnds(t *testing.T) {
	script := filepath.Join(t.TempDir(), "ends.py")
	require.NoError(t, os.WriteFile(script, []byte(`
import os, sys
class Freed:
    def __init__(self, mkdir, path): self.mkdir, self.path = mkdir, path
    def __del__(self): self.mkdir(self.path)
kept = [Freed(os.mkdir, sys.argv[1])]
sys.stdin.read()
`), 0o644))
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			made := filepath.Join(t.TempDir(), "made")
			r := record(t, "period=4096 every=20", p.path, script, made)
			var calls atomic.Int32
			r.receiver.Leaving(func(int) {
				calls.Add(1)
				assert.NoDirExists(t, made)
			})
			r.runRecorded(t)
			assert.DirExists(t, made)
			assert.EqualValues(t, 1, calls.Load())
		})
	}
}

// A program with more lines than the engine has room for: the first ones are named, and the others are
// missing, which is reported.
func TestPythonNamesFull(t *testing.T) {
	script := filepath.Join(t.TempDir(), "long.py")
	const lines, most = 70000, 1 << 16
	require.NoError(t, os.WriteFile(script, []byte(fmt.Sprintf(`
import types
kept = [None] * %d
def keep(i):
    kept[i] = bytes(100)
for i in range(len(kept)):
    types.FunctionType(keep.__code__.replace(co_firstlineno=1000 + i), globals())(i)
`, lines)), 0o644))
	r := recordPython(t, "period=1", nil, pythons(t)[0].path, script)
	require.Len(t, r.problems, 1)
	require.Contains(t, r.problems[0], `"kind":"names-full"`)
	got := r.byLine()
	require.Equal(t, int64(133), got[line{script, 1001, "keep"}])
	require.NotContains(t, got, line{script, 1000 + lines, "keep"})
	require.Greater(t, len(got), most/2)
	require.LessOrEqual(t, len(got), most)
}

// An interpreter that is a library is found when it is loaded, and again after it was unloaded.
func TestPythonUnloaded(t *testing.T) {
	program := linkSources(t, "embed", "testdata/embed.c")
	found := false
	for _, p := range pythons(t) {
		home := filepath.Dir(filepath.Dir(p.path))
		library := filepath.Join(home, fmt.Sprintf("lib/libpython3.%d.so.1.0", p.minor))
		if _, err := os.Stat(library); err != nil {
			continue // the interpreter contains the library
		}
		found = true
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1", []string{"PYTHONNOUSERSITE=1"}, program, library, home)
			require.Empty(t, r.problems)
			var bytes int64
			for l, b := range r.byLine() {
				if l.file == "<string>" && l.function == "leak" && l.line == 4 {
					bytes += b
				}
			}
			require.GreaterOrEqual(t, bytes, int64(1000*1000))
		})
	}
	if !found {
		t.Skip("no interpreter is a library")
	}
}

// The frames of CPython's importer are left out, as in its tracebacks, and the interpreter's C
// frames around them. Those of a C extension that imports a module stay.
func TestPythonImports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.py":             "import ctypes\nkept = []\nimport package.inner\nctypes.pythonapi.PyImport_ImportModule(b'foreign')\n",
		"package/__init__.py": "\nfrom package import inner\n",
		"package/inner.py":    "\nimport leaf\n",
		"leaf.py":             "import __main__\n__main__.kept.append(bytes(100000))\n",
		"foreign.py":          "import __main__\n__main__.kept.append(bytes(200000))\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, p := range pythons(t) {
		t.Run(fmt.Sprintf("3.%d", p.minor), func(t *testing.T) {
			t.Parallel()
			r := recordPython(t, "period=1000", []string{"PYTHONDONTWRITEBYTECODE=1"}, p.path, filepath.Join(dir, "main.py"))
			require.Empty(t, r.problems)
			require.Equal(t, []string{"inner.py:2", "__init__.py:2", "main.py:3"}, r.callers(t, "leaf.py"))
			callers := r.callers(t, "foreign.py")
			require.Equal(t, "main.py:4", callers[len(callers)-1])
			require.Contains(t, strings.Join(callers, " "), "_ctypes")
		})
	}
}

// callers returns the call path of the largest allocation whose innermost Python frame is in a file:
// what called that frame up to the outermost Python frame, as lines, and as modules of C frames.
func (r pythonRun) callers(t *testing.T, file string) (path []string) {
	t.Helper()
	var largest heapfile.Sample
	for _, s := range r.snapshot.Samples {
		if f := r.stack(s); len(f) > 0 && filepath.Base(f[0].file) == file && s.InuseBytes > largest.InuseBytes {
			largest = s
		}
	}
	require.NotZero(t, largest.InuseBytes)
	first, last := -1, 0
	for i, a := range r.snapshot.Stacks.Addrs(largest.Stack) {
		f, ok := r.names[uint64(a)]
		if !ok {
			path = append(path, r.module(uint64(a)))
			continue
		}
		path = append(path, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		last = i
		if first < 0 {
			first = i
		}
	}
	return path[first+1 : last+1]
}

// module returns the base name of the file that is mapped at an address.
func (r pythonRun) module(address uint64) string {
	for _, m := range r.snapshot.Mappings {
		if address >= uint64(m.Start) && address < uint64(m.Limit) {
			return filepath.Base(m.Path)
		}
	}
	return "?"
}

// Tables of offsets that are not as expected are refused, with a reason.
func TestPythonLayout(t *testing.T) {
	program := linkSources(t, "layout", "testdata/layout.c", "src/python/layout.c")
	require.Equal(t, `3.14: frame 72, thread 152, owner 74, code 208, string 56
3.13: has no table of offsets
3.15: is not one of the supported versions, 3.8 to 3.14
3.7: is not one of the supported versions, 3.8 to 3.14
free-threaded: is a free-threaded build
offset: has an unknown table of offsets
damaged: has an unknown table of offsets
empty: has no table of offsets
3.8: frame 24, thread 176, owner -1, code -1, string 72
`, runProgram(t, nil, program))
}
