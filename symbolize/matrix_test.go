package symbolize

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// build is one way to compile the program.
type build struct {
	name, compiler string
	flags, link    []string
	short          bool // it is the one case of its axis that is always run
}

// builds returns the matrix, and the variants that are not combined with everything.
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
	// units of clang then do not contain their addresses, and llvm-symbolizer does not find them
	return append(out, build{"g++-dwarf2-strict", "g++", []string{"-O2", "-gdwarf-2", "-gstrict-dwarf"}, nil, true})
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

// TestMatrix compares every address of the program and its library, PLT stubs included, with llvm-symbolizer.
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

// TestEveryAddress compares all addresses from the header to after the last section: variables, tables, gaps.
func TestEveryAddress(t *testing.T) {
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

// TestObjectFile checks that object files are rejected: all their functions begin at 0.
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

// encodings are the ways to store the debug information of a linked file. Each makes a file from another.
var encodings = []struct {
	name string
	make func(t *testing.T, from, to string)
}{
	{"zlib", compressed("zlib", "debug_info")},
	{"zlib-gnu", compressed("zlib-gnu", "zdebug_info")},
	{"zstd", compressed("zstd", "debug_info")},
	{"dwz", func(t *testing.T, from, to string) { run(t, "", "dwz", "-o", to, from) }},
	{"dwz-multifile", func(t *testing.T, from, to string) {
		// A file shares only what two files have: the second is a copy.
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
		require.Contains(t, run(t, "", "readelf", "-WS", to), section, "objcopy did not compress")
	}
}

// separate moves the symbols and the debug information of a file to another.
func separate(t *testing.T, from, to, debug string) {
	run(t, "", "objcopy", "--only-keep-debug", from, debug)
	run(t, "", "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, from, to)
}

// TestEncodings checks that the encoding of the debug information does not change the answers. TestMatrix compares
// those of the plain file with llvm-symbolizer, which reads neither zstd nor dwz's common file nor the symbols of a
// debug file.
func TestEncodings(t *testing.T) {
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

// TestStripped checks that without debug information only exported names are left, and that the other addresses have a
// reason.
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
		require.Len(t, l.Frames, 1, "inlined functions are not exported")
		before := named[i].Frames
		require.Equal(t, before[len(before)-1].Function, l.Frames[0].Function, "0x%x", addrs[i])
	}
	require.NotZero(t, exports)
	require.Less(t, exports, len(addrs), "static functions have no name left")
}
