package symbolize

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/stretchr/testify/require"
)

// seriesOf returns a series of one snapshot with lines of /proc/self/maps and stacks, leaf first.
func seriesOf(t testing.TB, maps []string, stacks ...[]uint64) *series.Series {
	t.Helper()
	return seriesOfMany(t, snapshotText(maps, stacks...))
}

// snapshotText returns a heap profile as gperftools writes it.
func snapshotText(maps []string, stacks ...[]uint64) string {
	var b strings.Builder
	n := len(stacks)
	fmt.Fprintf(&b, "heap profile: %d: %d [ %d: %d] @ heapprofile\n", n, n*100, n, n*100)
	for _, stack := range stacks {
		b.WriteString("1: 100 [ 1: 100] @")
		for _, a := range stack {
			fmt.Fprintf(&b, " 0x%x", a)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nMAPPED_LIBRARIES:\n" + strings.Join(maps, "\n") + "\n")
	return b.String()
}

func seriesOfMany(t testing.TB, texts ...string) *series.Series {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("p.%04d.heap", i+1)), []byte(text), 0o600))
	}
	series, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, series.Close()) })
	require.Empty(t, series.Problems)
	return series
}

const page = 0x1000

// mapsOf returns the lines of /proc/self/maps of a file that was loaded at a base address.
func mapsOf(t testing.TB, path, as string, base uint64) (lines []string) {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		perm := []byte("---p")
		for i, flag := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
			if p.Flags&flag != 0 {
				perm[i] = "rwx"[i]
			}
		}
		start := base + p.Vaddr&^(page-1)
		end := base + (p.Vaddr+p.Filesz+page-1)&^(page-1)
		lines = append(lines, fmt.Sprintf("%012x-%012x %s %08x fe:01 1234 %s", start, end, perm, p.Off&^(page-1), as))
	}
	require.NotEmpty(t, lines)
	return lines
}

// call is a call instruction in the output of objdump: its return address, as an ELF address, and its text.
type call struct {
	returns uint64
	text    string
}

// callLine matches ` 12cf:	e8 4c fe ff ff       	call   1120 <_Znwm@plt>`; objdump prints at most 7 bytes a line,
// and no call is longer.
var callLine = regexp.MustCompile(`^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t((?:(?:bnd|notrack|data16|rex\S*|addr32|cs|ds) )*l?call\b.*)`)

// callsOf returns the calls in a file's .text.
func callsOf(t testing.TB, path string) (calls []call) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the calls of this machine are not known to the test")
	}
	cmd := exec.Command(testutil.Need(t, "objdump"), "-d", "-j", ".text", "-w", path)
	out, err := cmd.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "call") {
			continue
		}
		m := callLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		at, _ := strconv.ParseUint(m[1], 16, 64)
		calls = append(calls, call{at + uint64(len(strings.Fields(m[2]))), m[2] + m[3]})
	}
	require.NotEmpty(t, calls)
	return calls
}

// loadedAt returns the return addresses of calls in a process.
func loadedAt(calls []call, base uint64) (addrs []uint64) {
	for _, c := range calls {
		addrs = append(addrs, c.returns+base)
	}
	return addrs
}

func resolve(t testing.TB, series *series.Series, o Options) *Symbols {
	t.Helper()
	s, err := Resolve(t.Context(), series, o)
	require.NoError(t, err)
	return s
}
