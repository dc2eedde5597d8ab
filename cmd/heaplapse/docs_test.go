package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// ellipsis is a line of a session that stands for any lines.
const ellipsis = "…"

// session is a command of a ```console block and the output that follows it.
type session struct {
	command string
	want    []string
}

// sessions returns the commands of a document, which are the lines that start with "$ " in its
// ```console blocks.
func sessions(text string) []session {
	var out []session
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(strings.TrimRight(block[1], "\n"), "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, session{command: command})
			} else if len(out) > 0 {
				out[len(out)-1].want = append(out[len(out)-1].want, line)
			}
		}
	}
	return out
}

// programs returns the programs that a document asks its reader to save: the blocks that begin with a
// comment that is a file name, such as "# shop.py".
func programs(text string) map[string]string {
	out := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```[a-z]+\n((?:#|//) ([a-z]+\\.[a-z]+)\n.*?)^```").FindAllStringSubmatch(text, -1) {
		out[block[2]] = block[1]
	}
	return out
}

// text returns the session as a document contains it.
func (s session) text() string {
	return "$ " + s.command + "\n" + strings.Join(append(s.want, ""), "\n")
}

// pattern returns a regular expression that matches the output of the session: its lines exactly, any
// lines for an ellipsis, and any text for one between blanks or at the end of a line, where a recording
// is not the same twice.
func (s session) pattern() string {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range s.want {
		if isEllipsis(line) {
			b.WriteString(`(?:.*\n)*?`)
		} else {
			b.WriteString(innerEllipsis.ReplaceAllString(regexp.QuoteMeta(line), `(?: .*)?$1`) + `\n`)
		}
	}
	return b.String() + `\z`
}

// shows reports whether the document shows an output.
func (s session) shows(output string) bool {
	return regexp.MustCompile(s.pattern()).MatchString(output)
}

var innerEllipsis = regexp.MustCompile(` …( |$)`)

// with returns the session with another output. One ellipsis keeps the number of lines around it; a
// session with more of them cannot be rewritten.
func (s session) with(output string) (session, error) {
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	at := slices.IndexFunc(s.want, isEllipsis)
	if at < 0 {
		return session{s.command, lines}, nil
	}
	after := len(s.want) - at - 1
	if slices.ContainsFunc(s.want[at+1:], isEllipsis) || len(lines) < at+after {
		return s, fmt.Errorf("rewrite this session by hand; its output is\n%s", output)
	}
	want := slices.Concat(lines[:at], s.want[at:at+1], lines[len(lines)-after:])
	return session{s.command, want}, nil
}

func isEllipsis(line string) bool { return strings.TrimSpace(line) == ellipsis }

// document is a Markdown file of the project.
type document struct {
	name string // relative to the module's root
	path string
	text string

	sessions []session
	outputs  []string // of the sessions; nil before they run
}

// documents returns README.md, CONTRIBUTING.md and the manual in docs.
func documents(t *testing.T) []*document {
	t.Helper()
	root, err := filepath.Abs(testutil.Root(t))
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var out []*document
	paths = append(paths, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		d := &document{name: filepath.ToSlash(name), path: path, text: string(text)}
		d.sessions = sessions(d.text)
		out = append(out, d)
	}
	return out
}

// find returns the document with a name.
func find(t *testing.T, name string) *document {
	t.Helper()
	list := documents(t)
	at := slices.IndexFunc(list, func(d *document) bool { return d.name == name })
	require.GreaterOrEqual(t, at, 0, "%s is missing", name)
	return list[at]
}

// buildCommand returns a directory with the program in it, as it is built for users.
func buildCommand(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(sharedDir(), "bin")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	built(t, "bin/heaplapse", "go", "build")
	return dir
}

// TestDocumentedSessions runs every session of the documents and compares its output. With -update
// it rewrites the outputs. The sessions of a document share a directory, which has testdata in it. On a
// busy machine, a recording of some seconds may be undecided, and what holds the memory may be unknown: its
// document runs again then, alone.
func TestDocumentedSessions(t *testing.T) {
	testutil.NoRace(t)
	bin, cache := buildCommand(t), t.TempDir()
	ran, docs := 0, documents(t)
	t.Run("first", func(t *testing.T) {
		for _, d := range docs {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel() // most of the time, a session waits for the program that it records
				d.run(t, bin, cache)
			})
		}
	})
	for _, d := range docs {
		ran += len(d.sessions)
		t.Run(d.name, func(t *testing.T) {
			for range 2 {
				if d.outputs == nil || d.records() && !*update && !d.isShown() {
					d.run(t, bin, cache)
				}
			}
			for i, s := range d.sessions {
				t.Run(s.command, func(t *testing.T) { d.check(t, s, d.outputs[i]) })
			}
		})
	}
	require.GreaterOrEqual(t, ran, 15, "the documents show each command")
}

// records reports whether a session records a program.
func (d *document) records() bool {
	return slices.ContainsFunc(d.sessions, func(s session) bool { return strings.Contains(s.command, "heaplapse record ") })
}

// isShown reports whether the document shows the outputs.
func (d *document) isShown() bool {
	for i, s := range d.sessions {
		if !s.shows(d.outputs[i]) {
			return false
		}
	}
	return true
}

// run runs the sessions in a directory.
func (d *document) run(t *testing.T, bin, cache string) {
	t.Helper()
	if d.records() {
		needRecorder(t, filepath.Join(bin, "heaplapse"))
	}
	testdata, err := filepath.Abs(testutil.Data(t))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(testdata, filepath.Join(dir, "testdata")))
	for name, program := range programs(d.text) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(program), 0o644))
	}
	d.outputs = []string{}
	for _, s := range d.sessions {
		cmd := exec.Command("bash", "-c", s.command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache, "XDG_CONFIG_HOME="+cache)
		got, _ := cmd.CombinedOutput() // a session that has a status to show prints it
		d.outputs = append(d.outputs, strings.TrimLeft(strings.TrimRight(string(got), "\n")+"\n", "\n"))
	}
}

// check compares the output of a session with that of the document.
func (d *document) check(t *testing.T, s session, output string) {
	if *update && !s.shows(output) {
		changed, err := s.with(output)
		require.NoError(t, err)
		d.text = strings.Replace(d.text, s.text(), changed.text(), 1)
		require.NoError(t, os.WriteFile(d.path, []byte(d.text), 0o644))
		return
	}
	require.Regexp(t, s.pattern(), output, "%s shows another output (run the test with -update to rewrite it)", d.name)
}

// TestReadmeIsShort keeps the README to what a new user reads; the manual in docs has the rest.
func TestReadmeIsShort(t *testing.T) {
	require.LessOrEqual(t, len(find(t, "README.md").text), 15000)
}

// TestDocumentedLinks checks that the files and the headings that the documents link to exist.
func TestDocumentedLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := d.path
			if file != "" {
				target = filepath.Join(filepath.Dir(d.path), filepath.FromSlash(file))
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", d.name, m[1])
			if anchor != "" {
				require.Contains(t, anchors(t, target), anchor, "%s links to %s", d.name, m[1])
			}
		}
	}
}

// TestContributingIsTrue: the changes that CONTRIBUTING.md walks through name files that exist, and a name after
// a file is in it. A step without a file, such as a command, has no names.
func TestContributingIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testutil.Root(t), "CONTRIBUTING.md"))
	require.NoError(t, err)
	_, walks, found := strings.Cut(string(text), "## Three changes, step by step\n")
	require.True(t, found)
	walks, _, _ = strings.Cut(walks, "\n## ")
	_, walks, _ = strings.Cut(walks, "\n\n") // the sentence that names this test
	checked := 0
	for _, step := range regexp.MustCompile(`\n(?:\d+\. |\n)`).Split(walks, -1) {
		var files string
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(step, -1) {
			switch name := m[1]; {
			case strings.Contains(name, " "), name == "rss", files == "" && !strings.Contains(name, "/"):
			case strings.Contains(name, "/"):
				path := filepath.Join(testutil.Root(t), name)
				info, err := os.Stat(path)
				require.NoError(t, err, step)
				if !info.IsDir() {
					content, err := os.ReadFile(path)
					require.NoError(t, err)
					files += string(content)
				}
				checked++
			default:
				require.Regexp(t, `\b`+regexp.QuoteMeta(name)+`\b`, files, "no %s in the files of: %s", name, step)
				checked++
			}
		}
	}
	require.Greater(t, checked, 30)
}

// anchors returns the anchors of the headings of a Markdown file, as GitHub names them.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		a := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(a, " ", "-"))
	}
	return out
}

// TestDocumentedFlags checks that the commands in the documents have the flags that they are shown
// with, and that the manual describes every command.
func TestDocumentedFlags(t *testing.T) {
	commands := map[string][]*cobra.Command{} // by their first word
	for _, c := range allCommands((&app{}).root()) {
		if words := strings.Fields(c.CommandPath()); len(words) > 1 {
			commands[words[1]] = append(commands[words[1]], c)
		}
	}
	require.Contains(t, commands, "growth")
	has := func(command, name string) bool {
		return slices.ContainsFunc(commands[command], func(c *cobra.Command) bool {
			return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil || name == "help"
		})
	}
	use := regexp.MustCompile("heaplapse ([a-z]+)\\b([^`|;&>#\n]*)")
	flag := regexp.MustCompile(`(?:^| )(--[a-z][a-z-]*)`)
	checked := 0
	for _, d := range documents(t) {
		for _, m := range use.FindAllStringSubmatch(strings.ReplaceAll(d.text, "\\\n", ""), -1) {
			args, _, _ := strings.Cut(m[2], " -- ") // what follows is the program that is recorded
			for _, f := range flag.FindAllStringSubmatch(args, -1) {
				checked++
				require.True(t, has(m[1], strings.TrimPrefix(f[1], "--")), "%s: heaplapse %s %s", d.name, m[1], f[1])
			}
		}
	}
	require.Greater(t, checked, 20)
	manual := find(t, "docs/commands.md").text
	for command := range commands {
		if command != "help" && command != "completion" {
			require.Regexp(t, `(?m)^#+ `+command+`\b`, manual, "docs/commands.md has no section about %s", command)
		}
	}
}

// needRecorder ends a test that records where the system is not Linux or tcmalloc is missing.
func needRecorder(t *testing.T, heaplapse string) {
	t.Helper()
	testutil.Linux(t)
	dryRun := exec.Command(heaplapse, "record", "--dry-run", "--engine", "tcmalloc", "--", "sh")
	if out, err := dryRun.CombinedOutput(); err != nil {
		t.Logf("%s", out)
		testutil.Missing(t, "the library of tcmalloc")
	}
}
