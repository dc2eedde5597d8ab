package symbolize

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// printed is a frame as llvm-symbolizer prints it; "??" is unknown.
type printed struct {
	name, file   string
	line, column int
}

func (p printed) String() string {
	return fmt.Sprintf("%s at %s:%d:%d", p.name, p.file, p.line, p.column)
}

var unknown = []printed{{name: "??", file: "??"}}

// byLLVM returns what llvm-symbolizer prints for ELF addresses.
func byLLVM(t testing.TB, path string, addrs []uint64) [][]printed {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "0x%x\n", a)
	}
	cmd := exec.Command(testutil.Need(t, "llvm-symbolizer"), "-i", "-C", "--obj="+path)
	cmd.Stdin = strings.NewReader(in.String())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	blocks := strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n")
	require.Len(t, blocks, len(addrs), "blocks of llvm-symbolizer's output")
	all := make([][]printed, len(blocks))
	for i, b := range blocks {
		all[i] = parseBlock(t, b)
	}
	return all
}

var filePosition = regexp.MustCompile(`^(.*):(\d+):(\d+)$`)

// parseBlock reads pairs of lines such as `main` and `/src/main.cc:3:7`.
func parseBlock(t testing.TB, block string) []printed {
	t.Helper()
	lines := strings.Split(block, "\n")
	require.Zero(t, len(lines)%2, "%q is not pairs of lines", block)
	var out []printed
	for i := 0; i < len(lines); i += 2 {
		position := filePosition.FindStringSubmatch(lines[i+1])
		require.NotNil(t, position, "%q is not file:line:column", lines[i+1])
		p := printed{name: lines[i], file: position[1]}
		var err error
		p.line, err = strconv.Atoi(position[2])
		require.NoError(t, err)
		p.column, err = strconv.Atoi(position[3])
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

func printLocation(l *Location) []printed {
	if !l.Named() {
		return unknown
	}
	var out []printed
	for _, f := range l.Frames {
		out = append(out, printed{orUnknown(f.Function), orUnknown(f.File), f.Line, f.Column})
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "??"
	}
	return s
}
