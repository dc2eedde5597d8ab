package itanium

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/names.txt anew, with llvm-cxxfilt 14 and 22")

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

// shown is what we make of a name, or nothing.
func shown(name string, mode Mode) string {
	out, err := new(Demangler).Append(nil, name, mode)
	if err != nil {
		return ""
	}
	return string(out)
}

// TestCases: each production of the grammar, as the others show it.
func TestCases(t *testing.T) {
	data, err := os.ReadFile(casesFile)
	require.NoError(t, err)
	if *update {
		data = renewCases(t, data)
		require.NoError(t, os.WriteFile(casesFile, data, 0o644))
	}
	refused, accepted := 0, 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		c := parseCase(line)
		require.Equal(t, c.full, shown(c.name, Full), "%s (new names need -update)", c.name)
		if c.full == "" {
			refused++
			continue
		}
		accepted++
		require.Equal(t, c.simple, shown(c.name, Simple), "%s without parameters", c.name)
	}
	require.Greater(t, accepted, 400)
	require.Greater(t, refused, 10)
}

// renewCases asks the tools of others.
func renewCases(t *testing.T, data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	var names []string
	for _, l := range lines {
		if l != "" && l[0] != '#' {
			names = append(names, parseCase(l).name)
		}
	}
	by14, by22 := filtered(t, "llvm-cxxfilt-14", names), filtered(t, "llvm-cxxfilt-22", names)
	i := 0
	for k, l := range lines {
		if l != "" && l[0] != '#' {
			lines[k] = newCase(names[i], by14[i], by22[i]).String()
			i++
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func newCase(name, by14, by22 string) testCase {
	c := testCase{name: name, simple: simplerBy(name)}
	switch {
	case by14 != name && (knownWrong(name, by14) == "" || by22 == name || flat.Replace(by14) == flat.Replace(by22)):
		c.by, c.full = "14", by14
	case by22 != name:
		c.by, c.full = "22", by22
	default:
		c.by, c.full = "-", shown(name, Full)
	}
	return c
}

// simplerBy is a name without parameters by the library, or by us where that fails, or is wrong: it leaves a comma before
// empty packs.
func simplerBy(name string) string {
	out, err := demangle.ToString(name, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones)
	if ours := shown(name, Simple); err != nil || libraryWrong(name) != "" || strings.ReplaceAll(out, ", >", ">") == ours {
		return ours
	}
	return out
}

// filtered pipes names through a demangler.
func filtered(t testing.TB, tool string, names []string) []string {
	t.Helper()
	cmd := exec.Command(tool)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(names), tool)
	return lines
}

var (
	nameless         = regexp.MustCompile(`\]::~?\(`)
	templateTemplate = regexp.MustCompile(`T[0-9]*_I`)
)

// knownWrong is the class of a name that LLVM 14 gets wrong, or nothing. LLVM 22 is right.
func knownWrong(name, by14 string) string {
	switch {
	case nameless.MatchString(by14):
		return "constructors and destructors behind an ABI tag have no name: failure[abi:cxx11]::~()"
	case templateTemplate.MatchString(name):
		return "template template parameters are not counted as what back references can mean, and so those behind them are one off"
	}
	return ""
}
