//go:build linux && amd64

package holders

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/answer"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// interpreters returns the interpreter of the distribution, those of pyenv, and those of the variable HEAPLAPSE_PYTHONS, by
// version.
func interpreters(t *testing.T) map[string]string {
	t.Helper()
	list := []string{testutil.NeedFile(t, "/usr/bin/python3")}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	require.NoError(t, err)
	more = append(more, filepath.SplitList(os.Getenv("HEAPLAPSE_PYTHONS"))...)
	found := map[string]string{}
	for _, path := range append(list, more...) {
		const script = "import sys; print('%d.%d' % sys.version_info[:2], (3, 8) <= sys.version_info < (3, 15))"
		out, err := exec.Command(path, "-c", script).Output()
		require.NoError(t, err)
		version, supported, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		if supported != "True" {
			continue
		}
		if path == list[0] {
			version += " of the distribution"
		}
		found[version] = path
	}
	return found
}

// startPython runs a program until it is ready, and returns the lines that it wrote.
func startPython(t *testing.T, interpreter string, args ...string) (pid int, lines []string) {
	t.Helper()
	cmd := exec.Command(interpreter, args...)
	lines = testutil.Ready(t, cmd)
	return cmd.Process.Pid, lines
}

// text writes a holder in a line.
func text(h Holder) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s %s", h.Kind, h.Name)
	for i, s := range h.Steps {
		if s.Via == "" || s.Via == "[…]" || i > 0 && s.Via[0] == ' ' {
			b.WriteString(" →")
			if s.Via != "" && s.Via[0] != ' ' {
				b.WriteByte(' ')
			}
		}
		fmt.Fprintf(b, "%s (%s", s.Via, s.Type)
		if s.Length >= 0 {
			fmt.Fprintf(b, ", %d", s.Length)
		}
		if s.Limit >= 0 {
			fmt.Fprintf(b, " of %d", s.Limit)
		}
		if s.Links > 0 {
			fmt.Fprintf(b, ", and %d more", s.Links)
		}
		b.WriteByte(')')
	}
	return b.String()
}

// held has what the answer must be for each case of testdata/held.py. "*" stands for anything.
var held = map[string]string{
	"dict":      "module __main__.SESSIONS (dict, 30) → […] (bytes)",
	"list":      "module __main__.RESULTS (list, 30) → […] (str)",
	"set":       "module __main__.SEEN (set, 30) → […] (str)",
	"frozenset": "module __main__.FROZEN (list, 30) → […] (frozenset, 1) → […] (str)",
	"deque":     "module __main__.RECENT (collections.deque, 30 of 1000) → […] (bytes)",
	"ordered":   "module __main__.ORDERED (collections.OrderedDict, 30) → […] (list, 1)",
	"nested": "module __main__.NESTED (collections.defaultdict, 5) → […] (list, 6) → […] (dict, 2)" +
		" → […] (bytearray)",
	"queue":                  "module __main__.QUEUE (queue.Queue, 30 of 100).queue (collections.deque, 30) → […] (bytes)",
	"class":                  "module __main__.Handler (type).seen (list, 30) → […] (bytearray)",
	"inner class":            "module __main__.Outer (type).Inner (type).kept (list, 30) → […] (bytearray)",
	"limit that is not kept": "module __main__.SERVICE (__main__.Service).prices (__main__.Prices).data (dict, 30) → […] (bytes)",
	"instance dict":          "module __main__.SERVICE (__main__.Service).cache (dict, 30) → […] (dict, 1)",
	"object":                 "module __main__.OBJECTS (list, 60) → […] (__main__.Item)",
	"attribute":              "module __main__.OBJECTS (list, 60) → […] (__main__.*).payload (bytes)",
	"late attribute":         "module __main__.OBJECTS (list, 60) → […] (__main__.Late).added (bytes)",
	"known attributes":       "module __main__.KNOWN (list, 30) → […] (__main__.Known).body (bytearray)",
	"wide":                   "module __main__.MANY (list, 30) → […] (__main__.Wide).last (list, 1)",
	"looks like":             "module __main__.OPTIONS (list, 30) → […] (__main__.Option).value (list, 1)",
	"list like int":          "module __main__.LISTS (list, 90) → […] (list, 3) → […] (bytearray)",
	"list like item":         "module __main__.LISTS (list, 90) → […] (list, 5) → […] (bytearray)",
	"list like slotted":      "module __main__.LISTS (list, 90) → […] (list, 8) → […] (bytearray)",
	"list subclass":          "module __main__.NAMES (__main__.Names, 30) → […] (str)",
	"list attribute":         "module __main__.NAMES (__main__.Names, 30).origin (bytearray)",
	"slot":                   "module __main__.SLOTTED (list, 30) → […] (__main__.Slotted).buffer (bytes)",
	"closure": "module __main__.ADD (function *add) → closure variable kept (list, 30)" +
		" → […] (bytearray)",
	"default": "module __main__.with_default (function with_default) → default argument (list, 30)" +
		" → […] (bytes)",
	"keyword default": "module __main__.with_keyword (function with_keyword) → default argument (dict, 30)" +
		" → […] (list, 1)",
	"lru limited":   "module __main__.limited (functools._lru_cache_wrapper, 30 of 128) → […] (bytes)",
	"lru unlimited": "module __main__.unlimited (functools._lru_cache_wrapper, 30) → […] (str)",
	"partial": "module __main__.PARTIALS (list, 30) → […] (functools.partial).args (tuple, 1)" +
		" → […] (bytes)",
	"method": "module __main__.CALLBACKS (list, 60)" +
		" → […] (method with_default).__self__ (__main__.Slotted).buffer (bytearray)",
	"builtin method": "module __main__.CALLBACKS (list, 60)" +
		" → […] (builtin_function_or_method).__self__ (list, 1)",
	"generator": "module __main__.GENERATORS (list, 30) → […] (generator)" +
		" → local body of generate (held.py:*) (bytes)",
	"generator list": "module __main__.GENERATORS (list, 30) → […] (generator)" +
		" → local inner of generate (held.py:*) (list, 2)",
	"coroutine": "module __main__.COROUTINES (list, 30) → […] (coroutine)" +
		" → local request of hold (held.py:*) (list, 1)",
	"traceback": "module __main__.ERRORS (list, 30) → […] (ValueError).__traceback__ (traceback)" +
		".tb_next (traceback).tb_frame (frame) → local broken of fail (held.py:*) (bytes)",
	"view":      "module __main__.VIEWS (list, 30) → […] (memoryview)* (bytearray)",
	"buffer":    "module __main__.VIEWS (list, 30) → […] (memoryview)*",
	"tuple":     "module __main__.POINTS (list, 30) → […] (__main__.Point, 2) → […] (list, 1)",
	"namespace": "module __main__.SPACE (types.SimpleNamespace).value (bytearray)",
	"tee": "module __main__.TEES (list, 30) → […] (tuple, 2) → […] (itertools._tee)" +
		" → (itertools._tee_dataobject)* (bytearray)",
	"stale in tee":  "module __main__.DEEP (dict, 1, and 1 more) → […] (dict, 30) → […] (bytearray)",
	"left by a set": "module __main__.LEFT (dict, 1, and 1 more) → […] (dict, 30) → […] (__main__.Left)",
	"chain":         "module __main__.CHAIN (__main__.Node, and 9* more).following (__main__.Node).content (bytearray)",
	"thread-local":  "module __main__.LOCAL (_thread._local).connection (bytearray)",
	"weak":          "module __main__.LOCAL_ONLY (list, 1) → […] (__main__.Service)",
	"thread":        "frame worker (held.py:*) local mine (list, 30) → […] (bytes)",
	"frame":         "frame * local a* (list, 1)",
	"deeper":        "frame deeper (held.py:*) local within (dict, 1) → […] (bytearray)",
	"main":          "frame main (held.py:*) local mine (list, 2)",
	"task":          "* local request of wait (held.py:*) (bytearray)",
	"cycle":         "cycle ",
	"lost":          "lost ",
}

// objectsOf reads the lines of a program, which have the name and the address of an object each.
func objectsOf(t *testing.T, lines []string) (names []string, addresses []uint64) {
	t.Helper()
	for _, line := range lines {
		name, hex, _ := strings.Cut(line, " ")
		address, err := strconv.ParseUint(hex, 16, 64)
		require.NoError(t, err)
		names, addresses = append(names, strings.ReplaceAll(name, "_", " ")), append(addresses, address)
	}
	return names, addresses
}

// TestPython compares what holds the objects of a program with what the program says.
func TestPython(t *testing.T) {
	for version, interpreter := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			pid, lines := startPython(t, interpreter, "-S", "testdata/held.py")
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			assert.Empty(t, l.Doubts)
			cases, addresses := objectsOf(t, lines)
			got, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			right := checkHeld(t, cases, got)
			t.Logf("%d of %d are right; stopped for %v", right, len(cases), l.Stopped())
			assert.GreaterOrEqual(t, float64(right), 0.99*float64(len(cases)))
		})
	}
}

// origins has what the answer must be for each case of testdata/origin.
var origins = map[string]string{
	"imported before":      "module store.CACHE (dict, 30) → […] (bytes)",
	"imported by its user": "module created.CREATED (list, 30) → […] (bytes)",
	"three users":          "module third.THIRD (list, 30) → […] (bytes)",
	"function":             "module registry.register (function *register) → closure variable kept (list, 30) → […] (bytes)",
	"class":                "module models.Model (type).seen (list, 30) → […] (bytes)",
	"object":               "module pool.POOL (pool.Pool).items (list, 30) → […] (bytes)",
}

// TestPythonOrigin names a variable that several modules have by the module that defines it.
func TestPythonOrigin(t *testing.T) {
	for version, interpreter := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			pid, lines := startPython(t, interpreter, "-S", "-B", "testdata/origin/main.py")
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			cases, addresses := objectsOf(t, lines)
			require.Len(t, cases, len(origins))
			got, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			for i, name := range cases {
				assert.True(t, matches(origins[name], text(got[i])), "%s: %s, want %s", name, text(got[i]), origins[name])
			}
		})
	}
}

// TestPythonDebugHooks has an interpreter that writes 16 bytes before each object. It is not taken for another one.
func TestPythonDebugHooks(t *testing.T) {
	for version, interpreter := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			t.Setenv("PYTHONMALLOC", "debug")
			pid, lines := startPython(t, interpreter, "-S", "testdata/held.py")
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			assert.Equal(t, []string{"the Python interpreter is not understood: " +
				"its allocators have debug hooks (-X dev, PYTHONMALLOC=debug)"}, l.Doubts)
			_, addresses := objectsOf(t, lines)
			list, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			for _, h := range list {
				assert.NotContains(t, []answer.Kind{answer.Module, answer.Frame, answer.Lost, answer.Cycle}, h.Kind, text(h))
			}
		})
	}
}

// checkHeld returns the number of right answers. An object that is held is never called lost.
func checkHeld(t *testing.T, cases []string, got []Holder) (right int) {
	t.Helper()
	wrong := map[string]int{}
	for i, name := range cases {
		require.Contains(t, held, name)
		said := text(got[i])
		ok := matches(held[name], said)
		if name == "cycle" || name == "lost" {
			ok = got[i].Kind == answer.Kind(name) || name == "cycle" && got[i].Kind == answer.Lost
		} else {
			assert.NotContains(t, []answer.Kind{answer.Lost, answer.Cycle, answer.NotFound}, got[i].Kind, name)
		}
		if ok {
			right++
		} else {
			wrong[name+": "+said]++
		}
	}
	for _, text := range sorted(wrong) {
		t.Logf("wrong: %d times %s", wrong[text], text)
	}
	return right
}

// matches reports whether a text is what is wanted, where "*" stands for anything.
func matches(want, text string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, ".*") + "$").MatchString(text)
}

func sorted(m map[string]int) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// TestPythonSecrets asks about every third block of a program that has secrets everywhere.
func TestPythonSecrets(t *testing.T) {
	for version, interpreter := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			pid, _ := startPython(t, interpreter, "-S", "testdata/secrets.py")
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			var addresses []uint64
			for b := range l.used() {
				if b.Start/16%3 == 0 {
					addresses = append(addresses, b.Start)
				}
			}
			list, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			variables := map[string]bool{}
			for _, h := range list {
				require.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", h.answer())), "s3cr3t")
				if h.Kind == answer.Module && h.Name == "__main__" && len(h.Steps) > 0 {
					variables[h.Steps[0].Via] = true
				}
			}
			for _, name := range []string{".BY_NAME", ".SESSIONS", ".KEPT", ".BOTH", ".cached", ".DEFAULT", ".…"} {
				assert.Contains(t, variables, name)
			}
			t.Logf("%d answers", len(list))
		})
	}
}

// TestPythonAlive asks about all objects of a program that has many types. None is lost.
func TestPythonAlive(t *testing.T) {
	for version, interpreter := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			pid, lines := startPython(t, interpreter, "-S", "testdata/alive.py")
			l, err := take(pid, Options{})
			require.NoError(t, err)
			defer l.Close()
			var addresses []uint64
			for _, line := range lines {
				address, err := strconv.ParseUint(line, 16, 64)
				require.NoError(t, err)
				addresses = append(addresses, address)
			}
			list, err := l.Holders(t.Context(), addresses)
			require.NoError(t, err)
			kinds, lost := map[answer.Kind]int{}, map[string]int{}
			for _, h := range list {
				kinds[h.Kind]++
				if h.Kind == answer.Lost || h.Kind == answer.Cycle || h.Kind == answer.Doubtful {
					lost[text(h)]++
				}
			}
			for _, s := range sorted(lost) {
				t.Logf("%d times %s", lost[s], s)
			}
			t.Logf("%v", kinds)
			if version == "3.8" {
				// At its start, the interpreter forgets a module _warnings with its dict and functions.
				assert.LessOrEqual(t, kinds[answer.Lost]+kinds[answer.Cycle], 10)
			} else {
				assert.Zero(t, kinds[answer.Lost]+kinds[answer.Cycle])
			}
			assert.LessOrEqual(t, kinds[answer.Doubtful], 10)
			assert.Greater(t, kinds[answer.Module], len(list)*8/10)
		})
	}
}
