package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// firstCall resolves the first calls of the standard program as if it was mapped from a path, and returns one of them.
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
	require.Equal(t, path, m.Path, "the module keeps the path that was mapped")
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

// TestDebugFileElsewhere checks that the debug file named by .gnu_debuglink is used if its checksum matches.
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
	require.NotEqual(t, want, answers(t.TempDir()), "the debug file is not there")

	dir := t.TempDir()
	place := filepath.Join(dir, filepath.Dir(stripped), "program.debug")
	require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o700))
	copyFile(t, debug, place)
	require.Equal(t, want, answers(dir), "DIR/path/of/the/file")
	t.Chdir(filepath.Dir(stripped))
	stripped = filepath.Base(stripped)
	require.Equal(t, want, answers(dir), "a file named by a relative path")

	data, err := os.ReadFile(place)
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(place, data, 0o600))
	require.NotEqual(t, want, answers(dir), "another checksum: another build's debug file")
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

// TestFileByBuildID checks that a missing file is found by its recorded build ID: the whole file, or a debug file,
// whose segments have no file offsets if objcopy made it and the original ones if eu-strip made it.
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

// TestOtherBuildAtThePath checks that, if an upgrade has replaced the program, the debug directory's file with the
// recorded build ID is used, and that without one the program is stale.
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

// TestEmptiedFileThatFitsNowhere checks that without file offsets a mapping must be as long as the segment.
func TestEmptiedFileThatFitsNowhere(t *testing.T) {
	mine := relinked(t, "-Wl,--build-id=0xcc11223344")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".build-id/cc"), 0o700))
	run(t, "", "objcopy", "--only-keep-debug", mine, filepath.Join(dir, ".build-id/cc/11223344.debug"))
	series := seriesOf(t, []string{"555555556000-555555557000 r-xp 00001000 fe:01 1234 /gone/program"}, []uint64{0x555555556100})
	series.BuildIDs = map[string]string{"/gone/program": "cc11223344"}
	s := resolve(t, series, Options{DebugDirs: []string{dir}})
	require.Equal(t, ReasonNoSegment, s.Locations[0].Reason)
}
