package itanium

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

var update = flag.Bool("update", false, "rewrite testdata/names.txt with llvm-cxxfilt-14")

const casesFile = "testdata/names.txt"

// testCase is a line of names.txt.
type testCase struct{ name, by, full, simple string }

func parseCase(line string) testCase {
	f := append(strings.Split(line, "\t"), "", "", "")
	return testCase{f[0], f[1], f[2], f[3]}
}

func (c testCase) String() string {
	if c.full == "" {
		return c.name
	}
	return strings.Join([]string{c.name, c.by, c.full, c.simple}, "\t")
}

// demangled returns the demangled name, or "" if this package rejects it.
func demangled(name string, mode Mode) string {
	out, err := new(Demangler).Append(nil, name, mode)
	if err != nil {
		return ""
	}
	return string(out)
}

// TestCases checks names for each production of the grammar.
func TestCases(t *testing.T) {
	data, err := os.ReadFile(casesFile)
	require.NoError(t, err)
	if *update {
		data = updateCases(t, data)
		require.NoError(t, os.WriteFile(casesFile, data, 0o644))
	}
	rejected, accepted := 0, 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		c := parseCase(line)
		require.Equal(t, c.full, demangled(c.name, Full), "%s (for new names, run with -update)", c.name)
		if c.full == "" {
			rejected++
			continue
		}
		accepted++
		require.Equal(t, c.simple, demangled(c.name, Simple), "%s without parameters", c.name)
	}
	require.Greater(t, accepted, 400)
	require.Greater(t, rejected, 10)
}

// updateCases fills the fields of all names.
func updateCases(t *testing.T, data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	var names []string
	for _, l := range lines {
		if l != "" && l[0] != '#' {
			names = append(names, parseCase(l).name)
		}
	}
	by14 := pipe(t, llvm14, names)
	i := 0
	for k, l := range lines {
		if l != "" && l[0] != '#' {
			lines[k] = newCase(names[i], by14[i]).String()
			i++
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func newCase(name, by14 string) testCase {
	c := testCase{name: name, by: "14", full: by14, simple: simpleByLibrary(name)}
	if ours := demangled(name, Full); ours != by14 && (by14 == name || knownDifference(name, by14) != nil) {
		c.by, c.full = "-", ours
	}
	return c
}

// simpleByLibrary returns a name without parameters as the library prints it. It returns ours if
// the library rejects the name, or has a known defect.
func simpleByLibrary(name string) string {
	out, err := demangle.ToString(name, librarySimple...)
	if ours := demangled(name, Simple); err != nil || libraryDefect(name) != "" || emptyPacks.Replace(out) == ours {
		return ours
	}
	return out
}

// pipe sends names through a demangler and returns its answers.
func pipe(t testing.TB, tool string, names []string) []string {
	t.Helper()
	cmd := exec.Command(testutil.Need(t, tool))
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(names), tool)
	return lines
}
