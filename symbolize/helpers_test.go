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
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// run runs a command in a directory and returns its standard output.
func run(t testing.TB, dir, tool string, args ...string) string {
	t.Helper()
	testutil.Linux(t) // compilers of other systems do not write ELF files
	cmd := exec.Command(testutil.Need(t, tool), args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", cmd, stderr.String())
	return string(out)
}

// sources returns the directory of the sources of the standard program.
func sources(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/matrix")
	require.NoError(t, err)
	return dir
}

// program is a program and its library, compiled to a directory.
type program struct{ dir, main, library string }

// compile builds the sources in testdata/matrix. The objects are kept, because split debug
// information is in files beside them.
func compile(t testing.TB, compiler string, flags, link []string) program {
	t.Helper()
	return compileIn(t, t.TempDir(), compiler, flags, link)
}

func compileIn(t testing.TB, dir, compiler string, flags, link []string) program {
	t.Helper()
	src := sources(t)
	flags = append([]string{"-std=c++17", "-g", "-c"}, flags...)
	for _, unit := range []string{"main", "part"} {
		run(t, dir, compiler, append(flags, "-o", unit+".o", filepath.Join(src, unit+".cc"))...)
	}
	run(t, dir, compiler, append(flags, "-fPIC", "-o", "lib.o", filepath.Join(src, "lib.cc"))...)
	library := append([]string{"-shared", "-o", "libshapes.so", "lib.o"}, libraryLink(flags, link)...)
	run(t, dir, compiler, library...)
	main := append([]string{"-o", "program", "main.o", "part.o", "-L.", "-lshapes"}, link...)
	run(t, dir, compiler, main...)
	return program{dir, filepath.Join(dir, "program"), filepath.Join(dir, "libshapes.so")}
}

// standard returns the program that most tests use. g++ -O2 compiles it once. Tests that change a
// file copy it.
func standard(t testing.TB) program {
	t.Helper()
	testutil.Need(t, "g++")
	standardOnce.Do(func() { standardProgram = compileIn(t, standardDir, "g++", []string{"-O2"}, nil) })
	require.NotEmpty(t, standardProgram.main, "the standard program could not be compiled")
	return standardProgram
}

var (
	standardOnce    sync.Once
	standardProgram program
	standardDir     string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "symbolize")
	if err != nil {
		panic(err)
	}
	standardDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// copied returns a copy of a file that a test may change.
func copied(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	copyFile(t, path, to)
	return to
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o700))
}

// relinked returns the standard program, linked with other flags.
func relinked(t testing.TB, flags ...string) string {
	t.Helper()
	p := standard(t)
	to := filepath.Join(t.TempDir(), "program")
	run(t, p.dir, "g++", append([]string{"-o", to, "main.o", "part.o", "-L.", "-lshapes"}, flags...)...)
	return to
}

// libraryLink returns the flags to link a library: those of the program without position
// independence.
func libraryLink(flags, link []string) []string {
	var out []string
	for _, f := range append(flags[3:len(flags):len(flags)], link...) {
		if f != "-no-pie" && f != "-pie" && f != "-fno-pie" && f != "-fpie" {
			out = append(out, f)
		}
	}
	return out
}

// textAddresses returns all addresses in a file's .text.
func textAddresses(t testing.TB, path string) []uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	text := f.Section(".text")
	require.NotNil(t, text, "%s has no .text", path)
	out := make([]uint64, text.Size)
	for i := range out {
		out[i] = text.Addr + uint64(i)
	}
	return out
}

// symbolValue returns the address of a symbol.
func symbolValue(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	require.Fail(t, "no symbol", "%s in %s", name, path)
	return 0
}

// sectionOffset returns the file offset of a section.
func sectionOffset(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	s := f.Section(name)
	require.NotNil(t, s, "%s has no %s", path, name)
	return s.Offset
}

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

// seriesOfMany returns a series of snapshots with these contents.
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

// call is a call instruction in the output of objdump: its return address, as an ELF address, and
// its text.
type call struct {
	returns uint64
	text    string
}

// callLine matches ` 12cf:        e8 4c fe ff ff          call   1120 <_Znwm@plt>`. objdump prints
// at most 7 bytes in a line, and no call is longer.
var callLine = regexp.MustCompile(`^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t((?:(?:bnd|notrack|data16|rex\S*|addr32|cs|ds) )*l?call\b.*)`)

// callsOf returns the calls in a file's .text.
func callsOf(t testing.TB, path string) (calls []call) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("this test knows only the calls of amd64")
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

// loadedAt returns the return addresses of calls in a file that is loaded at an address.
func loadedAt(calls []call, base uint64) (addrs []uint64) {
	for _, c := range calls {
		addrs = append(addrs, c.returns+base)
	}
	return addrs
}

// resolve calls Resolve and requires that there is no error.
func resolve(t testing.TB, series *series.Series, o Options) *Symbols {
	t.Helper()
	s, err := Resolve(t.Context(), series, o)
	require.NoError(t, err)
	return s
}
