//go:build linux

package engine

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
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

// A stack of Perl moves when it grows, in a realloc that may be a sample.
func TestLanguageDeepStacks(t *testing.T) {
	for name, script := range map[string]string{
		"recursion": `no warnings; sub f { my ($n) = @_; my @a = (1) x 20; $n ? 1 + f($n - 1) : 0 } print f($_), "\n" for 1500, 5000, 20000`,
		"list": `no warnings; my $list; $list = {next => $list, text => "x" x 100} for 1 .. 6000;
sub walk { my ($n) = @_; my $copy = "$n->{text}"; $n->{next} ? 1 + walk($n->{next}) : 1 } print walk($list), "\n" for 1 .. 5`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record(t, "period=65536", testutil.Need(t, "perl"), "-e", script).run(t)
		})
	}
}

// Code that is loaded again and again gets the memory of code that was freed.
func TestLanguageReusedMemory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"aa", "bb"} {
		testutil.WriteFile(t, filepath.Join(dir, name+".pl"), `sub remember { push @main::kept, "x" x (1000 + $_) for 1 .. 10 } remember(); 1;`, 0o600)
	}
	main := filepath.Join(dir, "main.pl")
	testutil.WriteFile(t, main, `no warnings; for (1 .. 200) { do "$ARGV[0]/$_.pl" or die for "aa", "bb" }`, 0o600)
	r := recordPython(t, "period=1", nil, testutil.Need(t, "perl"), main, dir)
	require.Empty(t, r.problems)
	got := r.allocatedByLine()
	for _, name := range []string{"aa.pl", "bb.pl"} {
		require.Greater(t, got[line{filepath.Join(dir, name), 1, "main::remember"}], int64(200*10*1000), "%s %v", name, got)
	}
}

// An interpreter whose version is not known has native frames only, and one problem says which
// version it is.
func TestLanguageVersions(t *testing.T) {
	path, err := filepath.EvalSymlinks(testutil.Need(t, "perl"))
	require.NoError(t, err)
	changed := filepath.Join(t.TempDir(), "perl")
	require.NoError(t, os.WriteFile(changed, withByte(t, path, "PL_version", 99), 0o755))
	r := record(t, "period=1", changed, "-e", `push @kept, "x" x 1000 for 1 .. 100`).run(t)
	var details []string
	for _, e := range r.events(t, r.cmd.Process.Pid) {
		if e.Problem != nil {
			details = append(details, e.Problem.Detail)
		}
	}
	require.Len(t, details, 1)
	require.Contains(t, details[0], "Perl frames are not recorded: 5.99 is not one of the supported versions, 5.32")
	for _, name := range r.files(t) {
		require.NotContains(t, name, ".frames.jsonl")
	}
}

// withByte returns the content of a program whose variable has another first byte.
func withByte(t *testing.T, path, variable string, value byte) []byte {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == variable })
	require.GreaterOrEqual(t, i, 0)
	section := f.Sections[symbols[i].Section]
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[symbols[i].Value-section.Addr+section.Offset] = value
	return content
}

// A forked child names the lines of its parent's allocations and its own. It has to live for a
// second to be recorded.
func TestLanguageForks(t *testing.T) {
	scripts := map[string]string{
		"perl": `sub inherited { push @kept, "x" x 1000 for 1 .. 100 }
inherited();
my $pid = fork;
sub own { push @kept, "x" x 1000 for 1 .. 100 }
unless ($pid) { sleep 2; own(); }
waitpid $pid, 0 if $pid;
`,
		"ruby": `KEPT = []
def inherited = 100.times { KEPT << "x" * 1000 }
inherited
def own = 100.times { KEPT << "x" * 1000 }
pid = fork { sleep 1.5; own }
Process.wait pid
`,
	}
	for program, text := range scripts {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "script")
			require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
			rec := record(t, "period=1 children=2", testutil.Need(t, program), script).run(t)
			functions := map[string]int{} // in how many processes
			files := rec.files(t)
			for _, name := range files {
				if !strings.HasSuffix(name, ".frames.jsonl") {
					continue
				}
				_, names := frameNames(t, filepath.Join(filepath.Dir(rec.path("x")), name))
				for function := range functionsIn(names, script) {
					functions[function]++
				}
			}
			require.Equal(t, map[string]int{"inherited": 2, "own": 1}, functions, "%v", files)
		})
	}
}

// functionsIn returns those of the functions inherited and own that have lines in a script.
func functionsIn(names map[uint64]frameName, script string) map[string]bool {
	found := map[string]bool{}
	for _, f := range names {
		for _, function := range []string{"inherited", "own"} {
			if f.File == script && strings.HasSuffix(f.Function, function) {
				found[function] = true
			}
		}
	}
	return found
}

// Memory that is not what it should be: structures of random words, of which many point to others.
func TestLanguageJunk(t *testing.T) {
	program := compile(t, "gcc", "junk.c", "-rdynamic", "-pthread")
	for _, language := range []string{"perl", "php"} {
		for seed := range 20 {
			r := record(t, "period=1", program, language, fmt.Sprint(seed)).run(t)
			require.NotEmpty(t, r.last(t).Samples)
		}
	}
}
