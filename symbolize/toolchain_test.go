package symbolize

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// run runs a command in a directory and returns its standard output.
func run(t testing.TB, dir, tool string, args ...string) string {
	t.Helper()
	testutil.Linux(t) // the compilers of other systems do not make ELF files
	cmd := exec.Command(testutil.Need(t, tool), args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", cmd, stderr.String())
	return string(out)
}

// sources returns the directory of the matrix's sources.
func sources(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/matrix")
	require.NoError(t, err)
	return dir
}

// program is a program and its library, compiled to a directory.
type program struct{ dir, main, library string }

// compile builds the matrix's sources. The objects stay, because split debug information is beside them.
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

// standard returns the program that most tests use, made by g++ -O2. It is compiled once; tests that change a file copy
// it.
func standard(t testing.TB) program {
	t.Helper()
	testutil.Need(t, "g++")
	standardOnce.Do(func() { standardProgram = compileIn(t, standardDir, "g++", []string{"-O2"}, nil) })
	require.NotEmpty(t, standardProgram.main, "it could not be compiled")
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

// libraryLink returns the flags to link a library: those of the program except for position independence.
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

// sectionOffset returns where a section begins in its file.
func sectionOffset(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	s := f.Section(name)
	require.NotNil(t, s, "%s has no %s", path, name)
	return s.Offset
}
