//go:build linux

package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// languages are those whose frames are read from the interpreter's memory. The script of each, in
// testdata, allocates on lines with a comment "leak NAME", and prints the frames that the language
// itself sees there.
var languages = []struct {
	name, program, script string
	args, env             []string
}{
	{"perl", "perl", "leaks.pl", nil, nil},
	{"ruby", "ruby", "leaks.rb", []string{"--disable-gems"}, nil},
	// Only large objects are allocated one by one without it.
	{"php", "php", "leaks.php", []string{"-d", "opcache.enable_cli=0"}, []string{"USE_ZEND_ALLOC=0"}},
}

const (
	leakCount = 200
	leakSize  = 1000
)

// Every allocation has the function, file and line that the language itself has.
func TestLanguageLines(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			script, err := filepath.Abs(filepath.Join("testdata", l.script))
			require.NoError(t, err)
			args := append(slices.Clone(l.args), script, fmt.Sprint(leakCount))
			r := recordPython(t, "period=1", l.env, testutil.Need(t, l.program), args...)
			require.Empty(t, r.problems)
			want := printedFrames(r.output)
			lines := marks(t, script)
			require.NotEmpty(t, lines)
			require.Subset(t, slices.Collect(maps.Keys(want)), namesWithout(lines, "recursion", "unwound"))
			got := r.allocatedByLine() // PHP frees all memory at its end
			for name, frames := range want {
				at := r.find(t, name, frames)
				require.GreaterOrEqual(t, got[at], int64(leakCount*leakSize), "%s %+v", name, at)
				require.Less(t, got[at], int64(leakCount*leakSize*5), "%s %+v", name, at)
				if line, ok := lines[name]; ok {
					require.Equal(t, script, at.file)
					require.Equal(t, line, at.line)
				}
			}
			r.checkRecursion(t, lines["recursion"])
			for _, f := range r.names {
				require.True(t, f.File == "" || f.Language == l.name, "%+v", f)
			}
		})
	}
}

// namesWithout returns the keys of m but some.
func namesWithout(m map[string]int, but ...string) (names []string) {
	for name := range m {
		if !slices.Contains(but, name) {
			names = append(names, name)
		}
	}
	return names
}

// printedFrames parses lines such as "plain: main::plain 33; <main> 99".
func printedFrames(output string) map[string]string {
	frames := map[string]string{}
	for line := range strings.Lines(output) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			frames[name] = rest
		}
	}
	return frames
}

// allocatedByLine returns what the innermost lines have allocated.
func (r pythonRun) allocatedByLine() map[line]int64 {
	sums := map[line]int64{}
	for _, s := range r.snapshot.Samples {
		if frames := r.stack(s); len(frames) > 0 {
			sums[frames[0]] += s.AllocBytes
		}
	}
	return sums
}

// find returns the innermost line of the row that has exactly the frames and most memory.
func (r pythonRun) find(t *testing.T, name, frames string) (at line) {
	t.Helper()
	var most int64
	seen := map[string]bool{}
	for _, s := range r.snapshot.Samples {
		stack := r.stack(s)
		if text := framesText(stack); text == frames && s.AllocBytes >= most {
			most, at = s.AllocBytes, stack[0]
		} else if len(stack) > 0 && strings.Contains(text, name) {
			seen[text] = true
		}
	}
	require.NotEmpty(t, at, "%s: want %s\nhave %s", name, frames, strings.Join(slices.Sorted(maps.Keys(seen)), "\n"))
	return at
}

func framesText(stack []line) string {
	var all []string
	for _, f := range stack {
		all = append(all, fmt.Sprintf("%s %d", f.function, f.line))
	}
	return strings.Join(all, "; ")
}

// checkRecursion: a stack of 1000 frames has the innermost and the outermost frames.
func (r pythonRun) checkRecursion(t *testing.T, at int) {
	t.Helper()
	require.NotZero(t, at)
	found := false
	for _, s := range r.snapshot.Samples {
		stack := r.stack(s)
		if len(stack) < 100 || stack[0].line != at {
			continue
		}
		found = true
		require.Contains(t, stack, line{function: "[recursion]"})
		require.Equal(t, "<main>", stack[len(stack)-1].function)
	}
	require.True(t, found, "no row of the recursion")
}
