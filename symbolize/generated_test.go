package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

const jitMaps = "30000000-30010000 rwxp 00000000 00:00 0 "

// TestPerfMapsNameGeneratedCode checks that a perf map names the call before the return address.
func TestPerfMapsNameGeneratedCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "any.map")
	require.NoError(t, os.WriteFile(path, []byte("30000100 10 JS:*f /srv/a.js:2:3\n30000110 10 g\n"), 0o600))
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000110, 0x30000111, 0x30000100, 0x30000200})
	s := resolve(t, series, Options{PerfMaps: []string{path}})
	at := func(i int) *Location { return &s.Locations[s.Stack(0)[i]] }
	require.Equal(t, "f", at(0).Frames[0].Function, "a call at the end of f returns to g's first byte")
	require.Equal(t, SourcePerfMap, at(0).Source)
	require.Equal(t, "g", at(1).Frames[0].Function)
	require.Equal(t, ReasonNoPerfEntry, at(2).Reason, "the call before f's first byte is not in f")
	require.Equal(t, ReasonNoPerfEntry, at(3).Reason)
}

// TestPerfMapEncodings checks compressed perf maps, and the warnings for malformed ones.
func TestPerfMapEncodings(t *testing.T) {
	text := []byte("30000100 10 f\n")
	zipped := testutil.Gzipped(t, string(text))
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000108})
	for name, c := range map[string]struct {
		data    []byte
		named   bool
		warning string
	}{
		"perf-1.map":     {text, true, ""},
		"perf-1.map.gz":  {zipped, true, ""},
		"perf-2.map.gz":  {text, false, "gzip: invalid header"},
		"perf-3.map.gz":  {zipped[:len(zipped)-9], false, "unexpected EOF"},
		"perf-4.map.zst": {text, false, "magic number mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			s := resolve(t, series, Options{PerfMaps: []string{path}})
			require.Equal(t, c.named, s.Locations[0].Named())
			if c.warning == "" {
				require.Empty(t, s.Warnings)
				return
			}
			require.Len(t, s.Warnings, 1)
			require.ErrorContains(t, s.Warnings[0], c.warning)
			require.ErrorContains(t, s.Warnings[0], path)
		})
	}
}

// TestPerfMapsBesideSnapshots checks that perf-PID.map is found in the directory of the snapshots.
// If the PID is unknown and there are two maps, none is used.
func TestPerfMapsBesideSnapshots(t *testing.T) {
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000108})
	named := func() bool { return resolve(t, series, Options{}).Locations[0].Named() }
	require.False(t, named())
	beside := filepath.Join(series.Dir(), "perf-12.map")
	require.NoError(t, os.WriteFile(beside, []byte("30000100 10 f\n"), 0o600))
	require.True(t, named())
	require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), "perf-13.map"), []byte("30000100 10 g\n"), 0o600))
	require.False(t, named(), "two maps, and the PID is unknown")
	require.NoError(t, os.Remove(beside))
	require.NoError(t, os.Remove(filepath.Join(series.Dir(), "perf-13.map")))
	require.NoError(t, unix.Mkfifo(beside, 0o600))
	require.False(t, named(), "reading the pipe would block")
}

// TestManifestListsCopiedMaps checks that a copied map, which may have any name, is used for the
// process that wrote it.
func TestManifestListsCopiedMaps(t *testing.T) {
	series := seriesOf(t, nil, []uint64{0x7f0000001010})
	series.Heads[0].File.PID = 7
	dir := series.Dir()
	for _, name := range []string{"copied.map", "other.map"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("7f0000001000 100 "+name+"\n"), 0o600))
	}
	series.Manifest = &manifest.Manifest{Files: []manifest.File{
		{File: "other.map", Kind: "perf-map", PID: 8}, {File: "../copied.map", Kind: "perf-map", PID: 7}, {File: "gone.map", Kind: "perf-map"},
	}}
	s := resolve(t, series, Options{Sysroot: dir})
	require.Equal(t, "copied.map", s.Locations[0].Frames[0].Function)
}

// hotFunction returns an address in the optimized code of the function hot, from the perf map of a
// version of Node.
func hotFunction(t *testing.T, version string) uint64 {
	t.Helper()
	text, err := os.ReadFile("internal/jit/testdata/node" + version + ".map")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^([0-9a-f]+) [0-9a-f]+ [A-Za-z]+:\*'?hot /srv/hot\.js:2`).FindSubmatch(text)
	require.NotNil(t, found)
	start, err := strconv.ParseUint(string(found[1]), 16, 64)
	require.NoError(t, err)
	return start + 0x10
}

// TestJITDumpOfSeries checks that a jitdump takes precedence over a perf map, both in the directory
// of the snapshots and in the options. For each version of Node, both have the function, the file
// and a line.
func TestJITDumpOfSeries(t *testing.T) {
	for _, version := range []string{"18", "20", "22", "24"} {
		t.Run(version, func(t *testing.T) {
			addr := hotFunction(t, version)
			mapping := fmt.Sprintf("%08x-%08x rwxp 00000000 00:00 0 ", addr&^0xfff, addr&^0xfff+0x100000)
			series := seriesOf(t, []string{mapping}, []uint64{addr, addr&^0xfff + 0xfffff})
			at := func(o Options) (*Location, *Location) {
				s := resolve(t, series, o)
				return &s.Locations[s.Stack(0)[0]], &s.Locations[s.Stack(0)[1]]
			}
			copyFile := func(from, to string) {
				data, err := os.ReadFile("internal/jit/testdata/" + from)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), to), data, 0o600))
			}
			requireHot := func(l *Location, source Source) {
				require.Equal(t, source, l.Source)
				require.Len(t, l.Frames, 1)
				require.Equal(t, "hot", l.Frames[0].Function)
				require.Equal(t, "/srv/hot.js", l.Frames[0].File)
				require.Equal(t, 2, l.Frames[0].StartLine)
				require.GreaterOrEqual(t, l.Frames[0].Line, 2)
				require.LessOrEqual(t, l.Frames[0].Line, 6)
			}
			copyFile("node"+version+".map", "perf-4711.map")
			first, second := at(Options{})
			requireHot(first, SourcePerfMap)
			require.Equal(t, ReasonNoPerfEntry, second.Reason)
			other := fmt.Sprintf("%x 100000 mapped\n", addr&^0xfff)
			require.NoError(t, os.WriteFile(filepath.Join(series.Dir(), "perf-4711.map"), []byte(other), 0o600))
			copyFile("node"+version+".dump.gz", "jit-4711.dump.gz")
			first, second = at(Options{})
			requireHot(first, SourceJITDump)
			require.Equal(t, "jitdump", first.Source.String())
			require.Equal(t, "mapped", second.Frames[0].Function)
			require.Equal(t, SourcePerfMap, second.Source)
			first, second = at(Options{PerfMaps: []string{"internal/jit/testdata/node" + version + ".dump.gz"}})
			requireHot(first, SourceJITDump)
			require.Equal(t, ReasonNoPerfEntry, second.Reason)
		})
	}
}

// TestPerfMapOfStranger: every user can make a file in /tmp. A map there is used if it belongs to
// root, to this user, or to the owner of the snapshots.
func TestPerfMapOfStranger(t *testing.T) {
	series := seriesOf(t, []string{jitMaps}, []uint64{0x30000108})
	pid := 1<<29 + os.Getpid() // no process has this number
	series.Heads[0].File.PID = pid
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	t.Cleanup(func() { _ = os.Remove(path) })
	require.NoError(t, os.WriteFile(path, []byte("30000100 10 f\n"), 0o600))
	used := func() (bool, []error) {
		s := resolve(t, series, Options{})
		return s.Locations[0].Named(), s.Warnings
	}
	named, warnings := used()
	require.True(t, named)
	require.Empty(t, warnings)

	if os.Geteuid() == 0 {
		const stranger = 54321
		require.NoError(t, os.Chown(path, stranger, stranger))
		named, warnings = used()
		require.False(t, named)
		require.Len(t, warnings, 1)
		require.EqualError(t, warnings[0], "names not used: open "+path+": belongs to another user (54321)")
		require.NoError(t, os.Chown(series.Heads[0].Path, stranger, stranger))
		named, warnings = used()
		require.True(t, named, "the owner of the snapshots")
		require.Empty(t, warnings)
	}

	require.NoError(t, os.Rename(path, filepath.Join(series.Dir(), "target")))
	require.NoError(t, os.Symlink(filepath.Join(series.Dir(), "target"), path))
	named, warnings = used()
	require.False(t, named)
	require.Len(t, warnings, 1)
	require.ErrorContains(t, warnings[0], path+": is a symbolic link")
	named = resolve(t, series, Options{PerfMaps: []string{path}}).Locations[0].Named()
	require.True(t, named, "the user's choice")
}
