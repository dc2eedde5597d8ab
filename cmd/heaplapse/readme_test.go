package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// session is a command of a ```console block and the output that follows it.
type session struct {
	command string
	want    []string
}

// sessions are the commands of a document that start with "$ heaplapse" or pipe into it.
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

// text is the session as the document has it.
func (s session) text() string {
	return "$ " + s.command + "\n" + strings.Join(append(s.want, ""), "\n")
}

// with is the session with another output. One that ends in … keeps its number of lines, one that has a … within it
// cannot be changed by itself.
func (s session) with(output string) session {
	lines := strings.Split(output, "\n")
	at := slices.IndexFunc(s.want, func(l string) bool { return strings.TrimSpace(l) == "…" })
	switch {
	case at < 0:
		return session{s.command, lines}
	case at == len(s.want)-1 && at <= len(lines):
		return session{s.command, append(lines[:at:at], s.want[at])}
	}
	return s
}

// TestReadmeSessions runs every session of the README, from the module's root. A line of only … stands for any lines. With -update
// it rewrites them.
func TestReadmeSessions(t *testing.T) {
	root, err := filepath.Abs(testutil.Root(t))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "heaplapse"), ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	list := sessions(string(text))
	cache := t.TempDir()
	require.GreaterOrEqual(t, len(list), 6, "the README shows each command")
	for _, s := range list {
		t.Run(s.command, func(t *testing.T) {
			if strings.HasPrefix(s.command, "heaplapse record ") {
				needRecorder(t, filepath.Join(bin, "heaplapse"))
			}
			cmd := exec.Command("bash", "-c", s.command)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache)
			got, _ := cmd.CombinedOutput() // statuses are shown by the sessions themselves
			if *update {
				text = bytes.Replace(text, []byte(s.text()), []byte(s.with(strings.TrimRight(string(got), "\n")).text()), 1)
				require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"), text, 0o644))
				return
			}
			require.Regexp(t, sessionPattern(s.want), strings.TrimRight(string(got), "\n"),
				"the README shows another output for: %s", s.command)
		})
	}
}

// sessionPattern matches the lines exactly, but for lines of only ….
func sessionPattern(want []string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	for i, line := range want {
		switch {
		case strings.TrimSpace(line) == "…":
			b.WriteString(`(?:.*\n)*?`)
			continue
		case i == len(want)-1:
			b.WriteString(regexp.QuoteMeta(line))
		default:
			b.WriteString(regexp.QuoteMeta(line) + `\n`)
		}
	}
	if len(want) > 0 && strings.TrimSpace(want[len(want)-1]) == "…" {
		return b.String() + `(?s:.*)\z`
	}
	return b.String() + `\z`
}

// needRecorder ends a test that records where Linux or tcmalloc is missing.
func needRecorder(t *testing.T, heaplapse string) {
	t.Helper()
	testutil.Linux(t)
	if out, err := exec.Command(heaplapse, "record", "--dry-run", "--engine", "tcmalloc", "--", "sh").CombinedOutput(); err != nil {
		t.Logf("%s", out)
		testutil.Missing(t, "the library of tcmalloc")
	}
}
