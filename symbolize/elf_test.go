package symbolize

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// build is one way to compile the program.
type build struct {
	name, compiler string
	flags, link    []string
	short          bool // always run; other builds run only if testutil.Full is set
}

// builds returns all combinations of compiler, version, level and position independence, and some
// variants of one combination.
func builds() []build {
	var out []build
	for _, compiler := range []string{"g++", "clang++"} {
		for _, version := range []string{"4", "5"} {
			for _, level := range []string{"0", "2"} {
				for _, pie := range []string{"pie", "no-pie"} {
					out = append(out, build{
						name: fmt.Sprintf("%s-dwarf%s-O%s-%s", compiler, version, level, pie), compiler: compiler,
						flags: []string{"-gdwarf-" + version, "-O" + level, "-f" + pie}, link: []string{"-" + pie},
						short: oneStepFrom(compiler, version, level, pie),
					})
				}
			}
		}
		out = append(out, specials(compiler)...)
	}
	return out
}

// oneStepFrom reports whether a case differs in at most one axis from g++ -gdwarf-5 -O2 -fpie.
func oneStepFrom(compiler, version, level, pie string) bool {
	steps := 0
	for _, same := range []bool{compiler == "g++", version == "5", level == "2", pie == "pie"} {
		if !same {
			steps++
		}
	}
	return steps <= 1
}

func specials(compiler string) []build {
	gcc := compiler == "g++"
	lto := []string{}
	if !gcc {
		lto = append(lto, "-fuse-ld=lld")
	}
	return []build{
		{compiler + "-lto", compiler, []string{"-O2", "-flto"}, append(lto, "-flto", "-O2"), gcc},
		{compiler + "-split-dwarf4", compiler, []string{"-O2", "-gdwarf-4", "-gsplit-dwarf"}, nil, gcc},
		{compiler + "-split-dwarf5", compiler, []string{"-O2", "-gdwarf-5", "-gsplit-dwarf"}, nil, !gcc},
		{compiler + "-dwarf2", compiler, []string{"-O2", "-gdwarf-2"}, nil, false},
		{compiler + "-dwarf3", compiler, []string{"-O2", "-gdwarf-3"}, nil, false},
		{compiler + "-dwarf64", compiler, []string{"-O2", "-gdwarf-5", "-gdwarf64"}, nil, false},
		{compiler + "-line-tables", compiler, []string{"-O2", "-g1"}, nil, false},
		{
			compiler + "-dropped", compiler, []string{"-O2", "-gdwarf-5", "-ffunction-sections"},
			[]string{"-fuse-ld=lld", "-Wl,--gc-sections"}, false,
		},
	}
}

// TestStrictDWARF2 checks functions and positions in a program that is compiled with -gstrict-dwarf.
// DWARF 2 cannot describe functions in several pieces, so that calls that are inlined into a cold
// part are outside of their function. Unlike llvm-symbolizer, this package does not list them.
func TestStrictDWARF2(t *testing.T) {
	testutil.NoRace(t)
	p := compile(t, "g++", []string{"-O2", "-gdwarf-2", "-gstrict-dwarf"}, nil)
	addrs := textAddresses(t, p.main)
	theirs, locations := byLLVM(t, p.main, addrs), locate(t, p.main, addrs)
	calls := 0
	for i, a := range addrs {
		ours := printLocation(&locations[i])
		function, want := ours[len(ours)-1], theirs[i][len(theirs[i])-1]
		require.Equal(t, spelling(want.name), spelling(function.name), "0x%x", a)
		require.Equal(t, theirs[i][0].position(), ours[0].position(), "0x%x", a)
		if len(ours) != len(theirs[i]) {
			require.Len(t, ours, 1, "0x%x", a)
			require.Contains(t, function.name, "cold)", "0x%x", a)
			calls++
		}
	}
	require.Positive(t, calls, "the compiler put no inlined call into a cold part")
}

// TestMatrix compares every address of the program and its library, PLT stubs included, with
// llvm-symbolizer.
func TestMatrix(t *testing.T) {
	for _, b := range builds() {
		if !b.short && !testutil.Full() {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, b.compiler, b.flags, b.link)
			for _, path := range []string{p.main, p.library} {
				addrs := append(textAddresses(t, path), stubAddresses(t, path)...)
				compareWithLLVM(t, path, addrs).check(t, filepath.Base(path))
			}
		})
	}
}

// TestEveryAddress compares all addresses up to the end of the last section, variables and gaps
// included.
func TestEveryAddress(t *testing.T) {
	testutil.NoRace(t)
	path := standard(t).main
	addrs := []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63}
	for a := range symbolValue(t, path, "_end") + 64 {
		addrs = append(addrs, a)
	}
	result := compareWithLLVM(t, path, addrs)
	result.check(t, filepath.Base(path))
	variables := 0
	for _, l := range locate(t, path, addrs) {
		if l.Named() && l.Frames[0].Linkage == "_IO_stdin_used" {
			variables++
		}
	}
	require.Equal(t, 4, variables, "bytes of a variable")
}

// TestObjectFile checks that object files are rejected, because all their functions begin at 0.
func TestObjectFile(t *testing.T) {
	object := filepath.Join(t.TempDir(), "part.o")
	run(t, sources(t), "g++", "-c", "-g", "-o", object, filepath.Base(matches(t, "*.cc")[0]))
	_, err := ELF(t.Context(), object, []uint64{0}, Options{})
	require.ErrorContains(t, err, object+": an object file")
}

// matches returns the sources that match a pattern.
func matches(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(sources(t), pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// encodings has the ways to store the debug information of a linked file. Each makes a file from
// another.
var encodings = []struct {
	name string
	make func(t *testing.T, from, to string)
}{
	{"zlib", compressed("zlib", "debug_info")},
	{"zlib-gnu", compressed("zlib-gnu", "zdebug_info")},
	{"zstd", compressed("zstd", "debug_info")},
	{"dwz", func(t *testing.T, from, to string) { run(t, "", "dwz", "-o", to, from) }},
	{"dwz-multifile", func(t *testing.T, from, to string) {
		// dwz shares what two files have in common, so a copy of the file is needed.
		copyFile(t, from, to)
		copyFile(t, from, to+".twin")
		run(t, filepath.Dir(to), "dwz", "-m", "common.dwz", to, to+".twin")
		require.FileExists(t, filepath.Join(filepath.Dir(to), "common.dwz"))
	}},
	{"debuglink", func(t *testing.T, from, to string) {
		separate(t, from, to, filepath.Join(filepath.Dir(to), filepath.Base(to)+".debug"))
	}},
	{"debuglink-in-dot-debug", func(t *testing.T, from, to string) {
		dir := filepath.Join(filepath.Dir(to), ".debug")
		require.NoError(t, os.Mkdir(dir, 0o700))
		separate(t, from, to, filepath.Join(dir, filepath.Base(to)+".debug"))
	}},
}

func compressed(kind, section string) func(t *testing.T, from, to string) {
	return func(t *testing.T, from, to string) {
		run(t, "", "objcopy", "--compress-debug-sections="+kind, from, to)
		require.Contains(t, run(t, "", "readelf", "-WS", to), section, "compressed section")
	}
}

// separate moves the symbols and the debug information of a file to another.
func separate(t *testing.T, from, to, debug string) {
	run(t, "", "objcopy", "--only-keep-debug", from, debug)
	run(t, "", "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, from, to)
}

// TestEncodings checks that the encoding of debug information does not change the answers.
// TestMatrix compares those of the plain file with llvm-symbolizer, which reads neither zstd nor
// the common file of dwz nor the symbols of a debug file.
func TestEncodings(t *testing.T) {
	testutil.NoRace(t)
	plains := map[string]string{"g++": standard(t).main}
	if testutil.Full() {
		plains["clang++"] = compile(t, "clang++", []string{"-O2", "-gdwarf-4"}, nil).main
	}
	for name, plain := range plains {
		t.Run(name, func(t *testing.T) {
			addrs := textAddresses(t, plain)
			want := locate(t, plain, addrs)
			for _, e := range encodings {
				t.Run(e.name, func(t *testing.T) {
					to := filepath.Join(t.TempDir(), "program")
					e.make(t, plain, to)
					require.Equal(t, want, locate(t, to, addrs))
				})
			}
		})
	}
}

// TestStripped checks that without debug information, only exported functions have names, and that
// other addresses have a reason.
func TestStripped(t *testing.T) {
	library := copied(t, standard(t).library)
	addrs := textAddresses(t, library)
	named := locate(t, library, addrs)
	run(t, "", "objcopy", "--strip-all", library)
	exports := 0
	for i, l := range locate(t, library, addrs) {
		if !l.Named() {
			require.Equal(t, ReasonNoFunction, l.Reason, "0x%x", addrs[i])
			continue
		}
		exports++
		require.Equal(t, SourceExports, l.Source)
		require.Len(t, l.Frames, 1, "inlined functions have no symbol")
		before := named[i].Frames
		require.Equal(t, before[len(before)-1].Function, l.Frames[0].Function, "0x%x", addrs[i])
	}
	require.NotZero(t, exports)
	require.Less(t, exports, len(addrs), "static functions have no name")
}

// samples returns the number of addresses per file. The addresses are the same in every run.
func samples() int {
	if testutil.Full() {
		return 200_000
	}
	return 2000
}

// realFiles lists files of the system. deps is true if scripts/deps.sh installs the file.
var realFiles = []struct {
	path string
	deps bool
}{
	{"/usr/bin/node", false},
	{"/usr/bin/python3.11", true},
	{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", true},
	{"/usr/lib/x86_64-linux-gnu/libc.so.6", true},
}

// TestRealFiles compares the answers for files of a Debian system with llvm-symbolizer.
func TestRealFiles(t *testing.T) {
	for _, f := range realFiles {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			if _, err := os.Stat(f.path); err != nil {
				if f.deps && runtime.GOARCH == "amd64" {
					testutil.Missing(t, f.path)
				}
				t.Skip(f.path + " is not installed")
			}
			compareWithLLVM(t, f.path, sampleText(t, f.path)).check(t, f.path)
		})
	}
}

// sampleText returns pseudo-random addresses in a file's .text, sorted.
func sampleText(t *testing.T, path string) []uint64 {
	t.Helper()
	all := textAddresses(t, path)
	random := rand.New(rand.NewPCG(4, uint64(len(all))))
	picked := map[uint64]bool{}
	for len(picked) < min(samples(), len(all)) {
		picked[all[random.IntN(len(all))]] = true
	}
	out := make([]uint64, 0, len(picked))
	for a := range picked {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// TestDebugFileByBuildID checks that the lines in libc come from the file of libc6-dbg, which is
// found by build ID.
func TestDebugFileByBuildID(t *testing.T) {
	const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	debug := filepath.Join("/usr/lib/debug/.build-id", buildIDPath(t, libc))
	if _, err := os.Stat(debug); err != nil {
		testutil.Missing(t, "libc6-dbg ("+err.Error()+")")
	}
	addrs := sampleText(t, libc)
	withFiles := func(o Options) (n int) {
		o.Demangle = DemangleFull
		locations, err := ELF(t.Context(), libc, addrs, o)
		require.NoError(t, err)
		for _, l := range locations {
			if l.Named() && l.Frames[0].Line > 0 {
				n++
			}
		}
		return n
	}
	want := withFiles(Options{})
	require.NotZero(t, want)
	require.Equal(t, want, withFiles(Options{DebugDirs: []string{t.TempDir()}}), "DebugDirs precedes the default")
}

// buildIDPath returns ab/cdef….debug for the build ID of a file.
// buildIDPath returns the path of the debug file of a file below .build-id.
func buildIDPath(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		testutil.Missing(t, err.Error())
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	require.NotNil(t, section)
	data, err := section.Data()
	require.NoError(t, err)
	id := hex.EncodeToString(data[16:])
	return id[:2] + "/" + id[2:] + ".debug"
}

// reported is what the runtime of a Go program reports for one of its addresses.
type reported struct {
	kind string
	addr uint64
	printed
}

// runSelf builds and runs testdata/self. It converts the addresses to ELF addresses.
func runSelf(t *testing.T) (path string, out []reported) {
	t.Helper()
	dir, err := filepath.Abs("testdata/self")
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "self")
	run(t, dir, "go", "build", "-o", path, "main.go")
	for line := range strings.Lines(run(t, "", path)) {
		var e reported
		_, err := fmt.Sscan(line, &e.kind, (*hexadecimal)(&e.addr), &e.name, &e.file, &e.line)
		require.NoError(t, err, "%q", line)
		out = append(out, e)
	}
	require.Equal(t, "origin", out[0].kind)
	bias := out[0].addr - symbolValue(t, path, "runtime.GC")
	for i := range out {
		out[i].addr -= bias
	}
	return path, out[1:]
}

// hexadecimal reads a number without 0x.
type hexadecimal uint64

func (h *hexadecimal) Scan(s fmt.ScanState, _ rune) error {
	_, err := fmt.Fscanf(s, "%x", (*uint64)(h))
	return err
}

// TestSelf checks that the debug information of a Go program agrees with Go's runtime.
func TestSelf(t *testing.T) {
	path, all := runSelf(t)
	entries := 0
	for _, e := range all {
		if e.kind != "entry" {
			continue
		}
		entries++
		got := locate(t, path, []uint64{e.addr})[0]
		require.True(t, got.Named(), "%s", e)
		require.Equal(t, e.printed, outermost(&got))
	}
	require.Equal(t, 8, entries)
}

// outermost returns the last frame.
func outermost(l *Location) printed {
	list := printLocation(l)
	return list[len(list)-1]
}

// TestSelfReturnAddresses checks that return addresses have the frames, inlined ones included, that
// the runtime's unwinder reports.
func TestSelfReturnAddresses(t *testing.T) {
	path, all := runSelf(t)
	all = all[8:]
	inlined := 0
	for i := 0; i < len(all); {
		require.Equal(t, "frame", all[i].kind)
		l := locate(t, path, []uint64{all[i].addr - 1})[0]
		// The runtime reports a separate return address for each inlined call.
		for _, got := range printLocation(&l) {
			got.name = strings.TrimSuffix(got.name, ".abi0") // the linker's suffix for assembler code
			require.Equal(t, all[i].printed, got)
			i++
		}
		inlined += len(l.Frames) - 1
	}
	require.Equal(t, 3, inlined, "the calls of outer, middle and inner")
}

// TestResultIndependentOfWorkers checks that the answers do not depend on the number of workers.
func TestResultIndependentOfWorkers(t *testing.T) {
	path, _ := runSelf(t)
	addrs := sampleText(t, path)
	alone, err := ELF(t.Context(), path, addrs, Options{Workers: 1})
	require.NoError(t, err)
	together, err := ELF(t.Context(), path, addrs, Options{Workers: 8})
	require.NoError(t, err)
	require.Equal(t, alone, together)
	require.True(t, slices.ContainsFunc(alone, func(l Location) bool { return l.Named() }))
}
