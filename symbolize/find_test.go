package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

// firstCall resolves the first calls of the standard program as if it was mapped from another path,
// and returns its module and the location of one call.
func firstCall(t *testing.T, as string, o Options) (Module, Location) {
	t.Helper()
	path := standard(t).main
	calls := callsOf(t, path)[:20]
	s := resolve(t, seriesOf(t, mapsOf(t, path, as, base), loadedAt(calls, base)), o)
	return s.Modules[0], s.Locations[s.Stack(0)[10]]
}

// TestSysroot checks that files outside the sysroot are not used, not even the one that was mapped.
func TestSysroot(t *testing.T) {
	path := standard(t).main
	root := t.TempDir()
	m, l := firstCall(t, path, Options{Sysroot: root})
	require.Equal(t, ReasonMissing, l.Reason)
	require.Empty(t, m.File)

	inRoot := filepath.Join(root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(inRoot), 0o700))
	copyFile(t, path, inRoot)
	m, l = firstCall(t, path, Options{Sysroot: root})
	require.True(t, l.Named())
	require.Equal(t, inRoot, m.File)
	require.Equal(t, path, m.Path, "the path that was mapped")
}

// TestBinary checks that Binary replaces the main program and no other module.
func TestBinary(t *testing.T) {
	path := standard(t).main
	m, l := firstCall(t, "/gone/program", Options{Binary: path})
	require.True(t, l.Named())
	require.Equal(t, path, m.File)
	m, l = firstCall(t, "/gone/libprogram.so", Options{Binary: path})
	require.Equal(t, ReasonMissing, l.Reason)
	require.Error(t, m.Err)
}

func TestDeletedFiles(t *testing.T) {
	path := standard(t).main
	m, l := firstCall(t, path+" (deleted)", Options{})
	require.True(t, l.Named())
	require.True(t, m.Deleted)
	require.Equal(t, path, m.Path)
}

// TestDebugFileElsewhere checks that the debug file named by .gnu_debuglink is used if its checksum
// matches.
func TestDebugFileElsewhere(t *testing.T) {
	plain := standard(t).main
	stripped := filepath.Join(t.TempDir(), "program")
	debug := filepath.Join(t.TempDir(), "program.debug")
	separate(t, plain, stripped, debug)
	addrs := textAddresses(t, plain)[:2000]
	want := locate(t, plain, addrs)
	answers := func(dirs ...string) []Location {
		got, err := ELF(t.Context(), stripped, addrs, Options{Demangle: DemangleFull, DebugDirs: dirs})
		require.NoError(t, err)
		return got
	}
	require.NotEqual(t, want, answers(t.TempDir()), "no debug file")

	dir := t.TempDir()
	place := filepath.Join(dir, filepath.Dir(stripped), "program.debug")
	require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o700))
	copyFile(t, debug, place)
	require.Equal(t, want, answers(dir), "DIR/path/of/the/file")
	t.Chdir(filepath.Dir(stripped))
	stripped = filepath.Base(stripped)
	require.Equal(t, want, answers(dir), "a relative path")

	data, err := os.ReadFile(place)
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(place, data, 0o600))
	require.NotEqual(t, want, answers(dir), "another checksum, so another build")
}

// TestDebugFileOfAnotherBuild checks that a debug file found by build ID must have this build ID.
func TestDebugFileOfAnotherBuild(t *testing.T) {
	mine, other := relinked(t, "-Wl,--build-id=0xaa11"), relinked(t, "-Wl,--build-id=0xaa22")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".build-id/aa"), 0o700))
	debug := filepath.Join(dir, ".build-id/aa/11.debug")
	lines := func() (n int) {
		got, err := ELF(t.Context(), mine, textAddresses(t, mine)[:2000], Options{DebugDirs: []string{dir}})
		require.NoError(t, err)
		for _, l := range got {
			if l.Named() && l.Frames[0].Line > 0 {
				n++
			}
		}
		return n
	}
	run(t, "", "objcopy", "--only-keep-debug", mine, debug)
	run(t, "", "objcopy", "--strip-all", mine)
	require.NotZero(t, lines())
	require.NoError(t, os.Remove(debug))
	run(t, "", "objcopy", "--only-keep-debug", other, debug)
	require.Zero(t, lines())
}

// TestDebugFileInDirItself checks that a debug file is found in a directory without the layout of /usr/lib/debug, if it
// has the build ID of the program or, without one, the checksum in .gnu_debuglink.
func TestDebugFileInDirItself(t *testing.T) {
	for _, id := range []string{"-Wl,--build-id=0xaa11", "-Wl,--build-id=none"} {
		for _, name := range []string{"any.debug", "program", "program.debug"} {
			t.Run(id+" "+name, func(t *testing.T) {
				whole, dir := relinked(t, id), t.TempDir()
				stripped, debug := filepath.Join(t.TempDir(), "program"), filepath.Join(dir, name)
				separate(t, whole, stripped, debug)
				lines := func(dirs ...string) (n int) {
					got, err := ELF(t.Context(), stripped, textAddresses(t, whole)[:2000], Options{DebugDirs: dirs})
					require.NoError(t, err)
					for _, l := range got {
						if l.Named() && l.Frames[0].Line > 0 {
							n++
						}
					}
					return n
				}
				require.NotZero(t, lines(dir))
				require.Zero(t, lines(t.TempDir()))
				require.NotZero(t, lines(filepath.Dir(stripped), dir), "the stripped program is no debug file")
				run(t, "", "objcopy", "--only-keep-debug", relinked(t, "-Wl,--build-id=0xbb22"), debug)
				require.Zero(t, lines(dir), "another build")
			})
		}
	}
}

// TestUnstrippedFileOfAnotherName checks that a program with the build ID is found in a directory whatever its name is,
// also if the stripped one is there, too.
func TestUnstrippedFileOfAnotherName(t *testing.T) {
	whole, dir := relinked(t, "-Wl,--build-id=0xaa11"), t.TempDir()
	stripped := filepath.Join(t.TempDir(), "program")
	run(t, "", "objcopy", "--strip-all", whole, stripped)
	lines := func() (n int) {
		got, err := ELF(t.Context(), stripped, textAddresses(t, whole)[:2000], Options{DebugDirs: []string{dir}})
		require.NoError(t, err)
		for _, l := range got {
			if l.Named() && l.Frames[0].Line > 0 {
				n++
			}
		}
		return n
	}
	copyFile(t, stripped, filepath.Join(dir, "a-stripped"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b-directory"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c-text"), []byte("no program"), 0o600))
	copyFile(t, relinked(t, "-Wl,--build-id=0xbb22"), filepath.Join(dir, "d-other"))
	require.Zero(t, lines())
	copyFile(t, whole, filepath.Join(dir, "program-1.2-unstripped"))
	require.NotZero(t, lines())
}

// TestDebugFileBeside checks that a debug file with the build ID of a program is found beside it and in .debug, without
// .gnu_debuglink, and that a debug or unstripped file itself can be named.
func TestDebugFileBeside(t *testing.T) {
	whole, other := relinked(t, "-Wl,--build-id=0xaa11"), relinked(t, "-Wl,--build-id=0xbb22")
	dir := t.TempDir()
	stripped := filepath.Join(dir, "program")
	run(t, "", "objcopy", "--strip-all", whole, stripped)
	lines := func(dirs ...string) (n int) {
		got, err := ELF(t.Context(), stripped, textAddresses(t, whole)[:2000], Options{DebugDirs: dirs})
		require.NoError(t, err)
		for _, l := range got {
			if l.Named() && l.Frames[0].Line > 0 {
				n++
			}
		}
		return n
	}
	require.Zero(t, lines())
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".debug"), 0o700))
	for _, name := range []string{"program.debug", ".debug/program.debug", ".debug/program"} {
		debug := filepath.Join(dir, name)
		run(t, "", "objcopy", "--only-keep-debug", other, debug)
		require.Zero(t, lines(), "%s of another build", name)
		copyFile(t, stripped, debug)
		require.Zero(t, lines(), "%s is stripped", name)
		run(t, "", "objcopy", "--only-keep-debug", whole, debug)
		require.NotZero(t, lines(), name)
		require.NoError(t, os.Remove(debug))
	}
	apart := filepath.Join(t.TempDir(), "any name")
	run(t, "", "objcopy", "--only-keep-debug", whole, apart)
	require.NotZero(t, lines(apart))
	require.NotZero(t, lines(whole), "the unstripped program")
	require.NotZero(t, lines(stripped, whole), "a stripped one does not hide it")
	require.Zero(t, lines(other))
}

// TestFileByBuildID checks that a missing file is found by its recorded build ID: either the whole
// file, or a debug file. The segments of debug files have no file offsets if objcopy made the file,
// and the original ones if eu-strip did.
func TestFileByBuildID(t *testing.T) {
	for name, link := range map[string][]string{"pie": nil, "no-pie": {"-no-pie"}, "lld": {"-fuse-ld=lld"}, "one segment": {"-Wl,-z,noseparate-code"}} {
		t.Run(name, func(t *testing.T) {
			mine := relinked(t, append(link, "-Wl,--build-id=0xbb11223344")...)
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, ".build-id/bb"), 0o700))
			debug := filepath.Join(dir, ".build-id/bb/11223344.debug")
			for maker, make := range map[string]func(){
				"whole":    func() { copyFile(t, mine, debug) },
				"objcopy":  func() { run(t, "", "objcopy", "--only-keep-debug", mine, debug) },
				"eu-strip": func() { run(t, "", "eu-strip", "-o", filepath.Join(t.TempDir(), "stripped"), "-f", debug, mine) },
			} {
				require.NoError(t, os.RemoveAll(debug))
				make()
				requireCallsFound(t, mine, dir, maker)
			}
		})
	}
}

// TestOtherBuildAtThePath checks a program that an upgrade replaced. The file with the recorded
// build ID in the debug directory is used. Without such a file, the program is stale.
func TestOtherBuildAtThePath(t *testing.T) {
	mine, other := relinked(t, "-Wl,--build-id=0xdd11223344"), relinked(t, "-Wl,--build-id=0xdd55667788")
	dir := t.TempDir()
	calls := callsOf(t, mine)
	series := seriesOf(t, mapsOf(t, mine, other, base), loadedAt(calls, base))
	series.BuildIDs = map[string]string{other: "dd11223344"}
	s := resolve(t, series, Options{DebugDirs: []string{dir}})
	require.Equal(t, ReasonStale, s.Modules[0].Reason)
	require.False(t, s.Locations[0].Named())
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".build-id/dd"), 0o700))
	run(t, "", "objcopy", "--only-keep-debug", mine, filepath.Join(dir, ".build-id/dd/11223344.debug"))
	s = resolve(t, series, Options{DebugDirs: []string{dir}})
	require.Equal(t, ReasonNone, s.Modules[0].Reason, s.Modules[0].Err)
	for i, id := range s.Stack(0) {
		require.Equal(t, calls[i].returns, s.Locations[id].Offset)
		require.True(t, s.Locations[id].Named())
	}
}

// requireCallsFound resolves the calls of a missing file by the files in a debug directory.
func requireCallsFound(t *testing.T, mine, dir, maker string) {
	t.Helper()
	calls := callsOf(t, mine)
	load := uint64(0)
	if f, err := elf.Open(mine); err == nil {
		if f.Type == elf.ET_DYN {
			load = base
		}
		require.NoError(t, f.Close())
	}
	series := seriesOf(t, mapsOf(t, mine, "/gone/program", load), loadedAt(calls, load))
	series.BuildIDs = map[string]string{"/gone/program": "bb11223344"}
	s := resolve(t, series, Options{DebugDirs: []string{dir}, Demangle: DemangleFull})
	for i, id := range s.Stack(0) {
		l := s.Locations[id]
		require.Equal(t, calls[i].returns, l.Offset, maker)
		require.True(t, l.Named(), "%s: %v %v", maker, l.Reason, s.Modules[0].Err)
		require.True(t, s.Modules[0].HasDebug)
	}
}

// TestEmptiedFileDoesNotFit checks that a mapping must be as long as a segment without file
// offsets.
func TestEmptiedFileDoesNotFit(t *testing.T) {
	mine := relinked(t, "-Wl,--build-id=0xcc11223344")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".build-id/cc"), 0o700))
	run(t, "", "objcopy", "--only-keep-debug", mine, filepath.Join(dir, ".build-id/cc/11223344.debug"))
	series := seriesOf(t, []string{"555555556000-555555557000 r-xp 00001000 fe:01 1234 /gone/program"}, []uint64{0x555555556100})
	series.BuildIDs = map[string]string{"/gone/program": "cc11223344"}
	s := resolve(t, series, Options{DebugDirs: []string{dir}})
	require.Equal(t, ReasonNoSegment, s.Locations[0].Reason)
}

// addMiniDebugInfo strips a file and adds .gnu_debugdata as the manual of gdb describes
// ("MiniDebugInfo"): an ELF file with the functions that .dynsym does not have, compressed with xz.
// It keeps weak functions, too.
func addMiniDebugInfo(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	keep, mini := filepath.Join(dir, "keep"), filepath.Join(dir, "mini")
	exported := map[string]bool{}
	for line := range strings.Lines(run(t, "", "nm", "-D", "--format=posix", "--defined-only", path)) {
		exported[strings.Fields(line)[0]] = true
	}
	var functions strings.Builder
	for line := range strings.Lines(run(t, "", "nm", "--format=posix", "--defined-only", path)) {
		if f := strings.Fields(line); strings.Contains("TtWw", f[1]) && !exported[f[0]] {
			functions.WriteString(f[0] + "\n")
		}
	}
	require.NotZero(t, functions.Len())
	require.NoError(t, os.WriteFile(keep, []byte(functions.String()), 0o600))
	run(t, "", "objcopy", "--only-keep-debug", path, mini+".debug")
	run(t, "", "objcopy", "-S", "--remove-section", ".comment", "--keep-symbols="+keep, mini+".debug", mini)
	run(t, "", "xz", mini)
	run(t, "", "objcopy", "--strip-all", path)
	run(t, "", "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", path)
}

// TestMiniDebugInfo checks that a stripped library with .gnu_debugdata has the names of one with
// symbols but without debug information: static functions from .gnu_debugdata, exported ones from
// .dynsym.
func TestMiniDebugInfo(t *testing.T) {
	symbols, mini := copied(t, standard(t).library), copied(t, standard(t).library)
	run(t, "", "objcopy", "--strip-debug", symbols)
	addMiniDebugInfo(t, mini)
	addrs := textAddresses(t, mini)
	want := locate(t, symbols, addrs)
	sources := map[Source]int{}
	for i, l := range locate(t, mini, addrs) {
		sources[l.Source]++
		require.Equal(t, want[i].Named(), l.Named(), "0x%x", addrs[i])
		if l.Named() {
			require.Equal(t, want[i].Frames[0].Function, l.Frames[0].Function, "0x%x", addrs[i])
		}
	}
	require.Greater(t, sources[SourceSymbols], 100)
	require.Greater(t, sources[SourceExports], 100)
}

// TestDebugFileBeforeMiniDebugInfo checks that the symbols of a debug file take precedence over
// .gnu_debugdata.
func TestDebugFileBeforeMiniDebugInfo(t *testing.T) {
	path := copied(t, standard(t).library)
	addrs := textAddresses(t, path)
	want := locate(t, path, addrs)
	debug := path + ".debug"
	run(t, "", "objcopy", "--only-keep-debug", path, debug)
	addMiniDebugInfo(t, path)
	run(t, "", "objcopy", "--add-gnu-debuglink="+debug, path)
	requireSame(t, want, locate(t, path, addrs))
}

// same reports whether two locations have the same frames.
func same(a, b Location) bool { return slices.Equal(a.Frames, b.Frames) }

// requireSame compares locations and prints only the first difference, because printing all takes
// minutes.
func requireSame(t *testing.T, want, got []Location) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, same(want[i], got[i]), "0x%x\nwant %+v\ngot  %+v", want[i].Offset, want[i].Frames, got[i].Frames)
	}
}

// TestPackages checks that a .dwp file gives the answers of the .dwo files, for both versions of
// the index and all compilers and packagers. TestMatrix compares those of the .dwo files with
// llvm-symbolizer.
func TestPackages(t *testing.T) {
	testutil.NoRace(t)
	for _, c := range []struct {
		name, compiler, packager string
		flags                    []string
	}{
		{"g++ dwarf4 dwp", "g++", "dwp", []string{"-gdwarf-4"}},
		{"g++ dwarf4 llvm-dwp", "g++", "llvm-dwp", []string{"-gdwarf-4"}},
		{"g++ dwarf5 llvm-dwp", "g++", "llvm-dwp", []string{"-gdwarf-5"}}, // dwp of binutils 2.40 crashes on DWARF 5
		{"clang++ dwarf4 dwp", "clang++", "dwp", []string{"-gdwarf-4"}},
		{"clang++ dwarf4 llvm-dwp", "clang++", "llvm-dwp", []string{"-gdwarf-4"}},
		{"clang++ dwarf5 llvm-dwp", "clang++", "llvm-dwp", []string{"-gdwarf-5"}},
		{"clang++ dwarf5 types", "clang++", "llvm-dwp", []string{"-gdwarf-5", "-fdebug-types-section"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, c.compiler, append([]string{"-O2", "-gsplit-dwarf"}, c.flags...), nil)
			addrs := textAddresses(t, p.main)
			want := locate(t, p.main, addrs)
			run(t, p.dir, c.packager, "-e", "program", "-o", "program.dwp")
			for _, unit := range []string{"main.dwo", "part.dwo"} {
				require.NoError(t, os.Remove(filepath.Join(p.dir, unit)))
			}
			requireSame(t, want, locate(t, p.main, addrs))

			elsewhere := copied(t, p.main)
			require.False(t, slices.EqualFunc(want, locate(t, elsewhere, addrs), same), "neither a package nor .dwo files")
			run(t, "", "objcopy", "--strip-all", "--add-gnu-debuglink="+p.main, elsewhere)
			dir := t.TempDir()
			beside := filepath.Join(dir, filepath.Dir(elsewhere))
			require.NoError(t, os.MkdirAll(beside, 0o700))
			copyFile(t, p.main, filepath.Join(beside, "program"))
			copyFile(t, p.main+packageSuffix, filepath.Join(beside, "program.dwp"))
			got, err := ELF(t.Context(), elsewhere, addrs, Options{Demangle: DemangleFull, DebugDirs: []string{dir}})
			require.NoError(t, err)
			requireSame(t, want, got)
		})
	}
}

// TestPackagesTakePrecedence checks that a .dwo file is opened only if the package does not have
// the unit or is malformed.
func TestPackagesTakePrecedence(t *testing.T) {
	p := compile(t, "g++", []string{"-O2", "-gdwarf-5", "-gsplit-dwarf"}, nil)
	addrs := textAddresses(t, p.main)
	want := locate(t, p.main, addrs)
	run(t, p.dir, "llvm-dwp", "-e", "program", "-o", "program.dwp")
	dwp, loose := p.main+packageSuffix, filepath.Join(p.dir, "main.dwo")
	good, err := os.ReadFile(dwp)
	require.NoError(t, err)
	kept, err := os.ReadFile(loose)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(loose, []byte("another build"), 0o600))
	requireSame(t, want, locate(t, p.main, addrs))

	require.NoError(t, os.WriteFile(loose, kept, 0o600))
	bad := append([]byte{}, good...)
	at := sectionOffset(t, dwp, ".debug_cu_index")
	bad[at] = 9
	require.NoError(t, os.WriteFile(dwp, bad, 0o600))
	got, err := ELF(t.Context(), p.main, addrs, Options{Demangle: DemangleFull})
	require.ErrorContains(t, err, dwp+": .debug_cu_index+0x0: version 9 is not supported")
	requireSame(t, want, got)
}
