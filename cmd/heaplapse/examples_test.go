package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// example is a directory of examples: a program, and a README with the session that finds its leak.
type example struct {
	name, dir string
	sessions  []session
	outputs   []string // of the sessions
}

// TestExamples runs the sessions of all examples, side by side. The documented line must be named in the
// recording with the leak, and the recording without it must not be called a leak. Percentages and the
// rest of the output depend on the machine. On a busy machine, a recording of 12 s is uneven, and growth
// is rightly undecided: the leak must be named first then, too. If the machine is so busy that it is not,
// the example runs again, alone.
func TestExamples(t *testing.T) {
	testutil.Linux(t)
	testutil.NoRace(t)
	t.Parallel() // its sessions record for a minute
	bin, cache := buildCommand(t), t.TempDir()
	examples := copyExamples(t)
	var running sync.WaitGroup
	for _, e := range examples {
		if len(e.missing()) == 0 {
			running.Go(func() { e.run(t, bin, cache) })
		}
	}
	running.Wait()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			for _, tool := range e.missing() {
				testutil.Missing(t, tool)
			}
			for range 2 {
				if !e.answers() {
					e.run(t, bin, cache)
				}
			}
			e.check(t)
		})
	}
}

// copyExamples returns the examples, in directories where their programs are built.
func copyExamples(t *testing.T) (out []*example) {
	t.Helper()
	readmes, err := filepath.Glob(filepath.Join(testutil.Root(t), "examples", "*", "README.md"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(readmes), 10)
	for _, path := range readmes {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), 40, path)
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(path))))
		port := freePort(t)
		e := &example{name: filepath.Base(filepath.Dir(path)), dir: dir, sessions: sessions(string(text))}
		for i := range e.sessions {
			e.sessions[i].command = strings.ReplaceAll(e.sessions[i].command, "6060", port)
		}
		out = append(out, e)
	}
	return out
}

// freePort returns a port that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// missing returns the programs of the sessions that this machine does not have. A session runs the first word
// that is no setting, and the word after "--".
func (e *example) missing() (out []string) {
	for _, s := range e.sessions {
		words := strings.Fields(s.command)
		first := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(w, "=") })
		tools := []string{words[first]}
		if at := slices.Index(words, "--"); at >= 0 {
			tools = append(tools, words[at+1])
		}
		for _, tool := range tools {
			if tool == "heaplapse" || strings.HasPrefix(tool, "./") || slices.Contains(out, tool) {
				continue
			}
			if _, err := exec.LookPath(tool); err != nil {
				out = append(out, tool)
			}
		}
	}
	return out
}

// run runs the sessions in a copy of the directory.
func (e *example) run(t *testing.T, bin, cache string) {
	t.Helper()
	dir := t.TempDir()
	assert.NoError(t, os.CopyFS(dir, os.DirFS(e.dir)))
	e.outputs = nil
	for _, s := range e.sessions {
		cmd := exec.Command("bash", "-c", s.command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache)
		out, _ := cmd.CombinedOutput() // growth shows what went wrong before
		e.outputs = append(e.outputs, string(out))
	}
}

// documentedLeak matches the first line of a leak, and the place that it names.
var documentedLeak = regexp.MustCompile(`^LEAK: (\S+ \S+:\d+) grows`)

// wanted returns what the output of a session must match, and whether it is a recording with a leak; nil if it shows
// no answer.
func (s *session) wanted() (answer *regexp.Regexp, leak bool) {
	if len(s.want) == 0 {
		return nil, false
	}
	if place := documentedLeak.FindStringSubmatch(s.want[0]); place != nil {
		return regexp.MustCompile(`(?m)^(LEAK|UNDECIDED): ` + regexp.QuoteMeta(place[1]) + ` `), true
	}
	return regexp.MustCompile(`(?m)^(NO-LEAK|UNDECIDED): `), false
}

// answers reports whether all sessions have the answers that they must have.
func (e *example) answers() bool {
	for i, s := range e.sessions {
		if want, _ := s.wanted(); want != nil && !want.MatchString(e.outputs[i]) {
			return false
		}
	}
	return true
}

func (e *example) check(t *testing.T) {
	leaks, controls := 0, 0
	for i, s := range e.sessions {
		want, leak := s.wanted()
		switch {
		case want == nil:
			continue
		case leak:
			leaks++
		default:
			require.True(t, strings.HasPrefix(s.want[0], "NO-LEAK: "), s.want[0])
			controls++
		}
		require.Regexp(t, want, e.outputs[i], strings.Join(e.outputs, "\n"))
	}
	require.Equal(t, 1, leaks, "a session finds the leak")
	require.Equal(t, 1, controls, "a session is quiet")
}
