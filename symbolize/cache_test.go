package symbolize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cached names addresses with a cache in a directory.
func cached(t testing.TB, path string, addrs []uint64, dir string) []Location {
	t.Helper()
	got, err := ELF(t.Context(), path, addrs, Options{Demangle: DemangleFull, CacheDir: dir, DebugDirs: []string{}})
	require.NoError(t, err)
	return got
}

// cacheFiles returns the files of a cache.
func cacheFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sym"))
	require.NoError(t, err)
	return files
}

// Offsets in a cache file: see package symcache.
const (
	cacheCounts = 8
	cacheHeader = cacheCounts + 6*4
)

// answersIn returns the number of answers in a cache file.
func answersIn(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return int(binary.LittleEndian.Uint32(data[cacheCounts+4*4:]))
}

// poison replaces each character of each name in the only file of a cache, so that a test can tell
// cached names from resolved ones.
func poison(t testing.TB, dir string) {
	t.Helper()
	files := cacheFiles(t, dir)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	count := func(i int) int { return int(binary.LittleEndian.Uint32(data[cacheCounts+4*i:])) }
	text := data[cacheHeader+count(0)+4*count(1):][:count(2)]
	copy(text, bytes.Repeat([]byte{'?'}, len(text)))
	require.NoError(t, os.WriteFile(files[0], summed(data), 0o600))
}

// poisoned reports whether an answer with a name comes from a poisoned cache.
func poisoned(l Location) bool {
	return l.Named() && strings.Trim(l.Frames[0].Function, "?") == "" && l.Frames[0].Function != ""
}

// summed corrects the checksum of a cache file.
func summed(data []byte) []byte {
	body := len(data) - 4
	binary.LittleEndian.PutUint32(data[body:], crc32.Checksum(data[:body], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

// TestCacheAnswers checks that cached answers, including reasons and hints, equal resolved ones,
// and that missing answers are resolved and added.
func TestCacheAnswers(t *testing.T) {
	path, dir := standard(t).main, filepath.Join(t.TempDir(), "new", "directory")
	addrs := append(textAddresses(t, path), 1, 2, 1<<40) // the last three have no function
	want := locate(t, path, addrs)
	third := len(addrs) / 3
	for _, part := range [][]uint64{addrs[:third], addrs[third/2 : 2*third], addrs, addrs} {
		got := cached(t, path, part, dir)
		from := slices.Index(addrs, part[0])
		require.Equal(t, want[from:from+len(part)], got)
		require.Len(t, cacheFiles(t, dir), 1)
	}
	require.Equal(t, len(addrs), answersIn(t, cacheFiles(t, dir)[0]))
	poison(t, dir)
	for i, l := range cached(t, path, addrs, dir) {
		require.Equal(t, want[i].Named() && want[i].Frames[0].Function != "", poisoned(l), "want names from the cache")
	}
}

// TestCacheOfSeries checks that Resolve uses the cache and describes modules in the same way.
func TestCacheOfSeries(t *testing.T) {
	path, dir := standard(t).main, t.TempDir()
	series := seriesOf(t, mapsOf(t, path, path, base), loadedAt(callsOf(t, path), base))
	want := resolve(t, series, Options{})
	for range 2 {
		got := resolve(t, series, Options{CacheDir: dir})
		require.Equal(t, want.Locations, got.Locations)
		require.Equal(t, want.Modules, got.Modules)
	}
	poison(t, dir)
	got := resolve(t, series, Options{CacheDir: dir})
	require.True(t, poisoned(got.Locations[got.Stack(0)[0]]))
	require.True(t, got.Modules[0].HasDebug)
}

// TestCacheIsOff checks that nothing is written without a directory.
func TestCacheIsOff(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cached(t, standard(t).main, textAddresses(t, standard(t).main)[:100], "")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCacheKeys checks that a cached answer is not used after a change of anything that it depends
// on.
func TestCacheKeys(t *testing.T) {
	addrs := textAddresses(t, standard(t).main)[:200]
	later := time.Now().Add(-time.Hour)
	for name, change := range map[string]func(t *testing.T, path string) Options{
		"another time": func(t *testing.T, path string) Options {
			require.NoError(t, os.Chtimes(path, later, later))
			return Options{}
		},
		"another size": func(t *testing.T, path string) Options {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, info.Size()+1))
			require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			return Options{}
		},
		"another build ID": func(t *testing.T, path string) Options {
			info, err := os.Stat(path)
			require.NoError(t, err)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			id := bytes.Index(data, []byte("GNU\x00")) + 4
			data[id] ^= 1
			require.NoError(t, os.WriteFile(path, data, 0o700))
			require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			return Options{}
		},
		"other names": func(*testing.T, string) Options { return Options{Demangle: DemangleNone} },
	} {
		t.Run(name, func(t *testing.T) {
			path, dir := relinked(t, "-Wl,--build-id=sha1"), t.TempDir()
			cached(t, path, addrs, dir)
			poison(t, dir)
			o := change(t, path)
			o.CacheDir = dir
			o.DebugDirs = []string{}
			got, err := ELF(t.Context(), path, addrs, o)
			require.NoError(t, err)
			for _, l := range got {
				require.False(t, poisoned(l))
			}
			require.Len(t, cacheFiles(t, dir), 2)
		})
	}
}

// TestCacheWithoutBuildID checks that path, inode, size and time identify a file without a build
// ID, and that a file that has just changed is not cached.
func TestCacheWithoutBuildID(t *testing.T) {
	path, dir := relinked(t, "-Wl,--build-id=none"), t.TempDir()
	addrs := textAddresses(t, path)[:200]
	cached(t, path, addrs, dir)
	require.Empty(t, cacheFiles(t, dir), "the file has just changed")
	before := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, before, before))
	cached(t, path, addrs, dir)
	poison(t, dir)
	require.True(t, poisoned(cached(t, path, addrs, dir)[0]))

	// The file is replaced by another one with the same size and time, but another inode.
	other := path + ".new"
	copyFile(t, path, other)
	require.NoError(t, os.Chtimes(other, before, before))
	require.NoError(t, os.Rename(other, path))
	require.False(t, poisoned(cached(t, path, addrs, dir)[0]))
}

// TestCacheOfDebugFile checks that old answers are not used after a debug file appears, changes or
// disappears.
func TestCacheOfDebugFile(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=0xcc11223344")
	addrs := textAddresses(t, path)[:500]
	debugDir, dir := t.TempDir(), t.TempDir()
	debug := filepath.Join(debugDir, ".build-id/cc/11223344.debug")
	require.NoError(t, os.MkdirAll(filepath.Dir(debug), 0o700))
	run(t, "", "objcopy", "--only-keep-debug", path, debug)
	run(t, "", "objcopy", "--strip-all", path)
	with := Options{Demangle: DemangleFull, DebugDirs: []string{debugDir}}
	want, err := ELF(t.Context(), path, addrs, with)
	require.NoError(t, err)
	require.Equal(t, SourceDWARF, want[250].Source)

	bare := cached(t, path, addrs, dir)
	require.NotEqual(t, want, bare)
	with.CacheDir = dir
	for range 2 {
		got, err := ELF(t.Context(), path, addrs, with)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, os.Remove(debug))
	got, err := ELF(t.Context(), path, addrs, with)
	require.NoError(t, err)
	require.Equal(t, bare, got)
}

// TestMissingFilesAreNotCached checks that a missing file is searched again.
func TestMissingFilesAreNotCached(t *testing.T) {
	path, dir := copied(t, standard(t).main), t.TempDir()
	series := seriesOf(t, mapsOf(t, path, path, base), loadedAt(callsOf(t, path), base))
	require.NoError(t, os.Rename(path, path+".away"))
	s := resolve(t, series, Options{CacheDir: dir})
	require.Equal(t, ReasonMissing, s.Modules[0].Reason)
	require.Empty(t, cacheFiles(t, dir))
	require.NoError(t, os.Rename(path+".away", path))
	s = resolve(t, series, Options{CacheDir: dir})
	require.True(t, s.Locations[s.Stack(0)[0]].Named())
}

// TestCacheOfSplitDebug checks that names from .dwo files, which are not part of the key, are not
// kept.
func TestCacheOfSplitDebug(t *testing.T) {
	p := compile(t, "g++", []string{"-O2", "-gsplit-dwarf"}, nil)
	dir := t.TempDir()
	addrs := textAddresses(t, p.main)[:500]
	require.Equal(t, locate(t, p.main, addrs), cached(t, p.main, addrs, dir))
	require.Empty(t, cacheFiles(t, dir))
}

// TestDamagedCache checks that a damaged cache file changes no answer and is replaced.
func TestDamagedCache(t *testing.T) {
	path, dir := standard(t).main, t.TempDir()
	addrs := textAddresses(t, path)[:300]
	want := cached(t, path, addrs, dir)
	file := cacheFiles(t, dir)[0]
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	damages := map[string][]byte{
		"empty": {}, "text": []byte("not a cache\n"), "half": whole[:len(whole)/2], "one byte less": whole[:len(whole)-1],
		"one byte more": append(slices.Clone(whole), 0), "another magic": append([]byte("hlsyms\x002"), whole[8:]...),
	}
	for i := range 20 {
		at := i * len(whole) / 20
		flipped := slices.Clone(whole)
		flipped[at] ^= 0x10
		damages[fmt.Sprintf("byte %d", at)] = flipped
	}
	for i := range 6 { // excessive counts, with a correct checksum
		hostile := slices.Clone(whole)
		binary.LittleEndian.PutUint32(hostile[cacheCounts+4*i:], 1<<32-1)
		if i < 5 { // the last field has flags, all of which are valid
			damages[fmt.Sprintf("count %d", i)] = summed(hostile)
		}
	}
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, data, 0o600))
			require.Equal(t, want, cached(t, path, addrs, dir))
			repaired, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole, repaired), "the cache file is restored")
		})
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	require.Equal(t, want, cached(t, path, addrs, dir), "a directory instead of the cache file")
}

// TestCacheCannotBeWritten checks that answers are the same if the cache cannot be written.
func TestCacheCannotBeWritten(t *testing.T) {
	path := standard(t).main
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	addrs := textAddresses(t, path)[:100]
	require.Equal(t, locate(t, path, addrs), cached(t, path, addrs, filepath.Join(file, "cache")))
}

// TestConcurrentUseOfCache checks that concurrent readers and writers of one cache get correct
// answers and leave one complete file.
func TestConcurrentUseOfCache(t *testing.T) {
	path, dir := standard(t).main, t.TempDir()
	addrs := textAddresses(t, path)
	want := locate(t, path, addrs)
	const writers = 8
	part := len(addrs) / writers
	var wg sync.WaitGroup
	wrong := make([]bool, writers)
	for w := range writers {
		wg.Go(func() {
			for range 3 {
				mine := addrs[w*part : (w+1)*part]
				got, err := ELF(t.Context(), path, mine, Options{Demangle: DemangleFull, CacheDir: dir, DebugDirs: []string{}})
				for i := range got {
					wrong[w] = wrong[w] || got[i].Source != want[w*part+i].Source || len(got[i].Frames) != len(want[w*part+i].Frames)
				}
				wrong[w] = wrong[w] || err != nil || len(got) != part
			}
		})
	}
	wg.Wait()
	require.NotContains(t, wrong, true)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "temporary files")
	require.GreaterOrEqual(t, answersIn(t, filepath.Join(dir, entries[0].Name())), part)
	require.Equal(t, want, cached(t, path, addrs, dir))
}

// TestCacheOfProcesses checks that two processes that write at once leave a complete file.
func TestCacheOfProcesses(t *testing.T) {
	if dir := os.Getenv("HEAPLAPSE_TEST_CACHE"); dir != "" {
		path := os.Getenv("HEAPLAPSE_TEST_PROGRAM")
		addrs := textAddresses(t, path)
		for i := range 10 {
			cached(t, path, addrs[i*100:i*100+150], dir)
		}
		return
	}
	dir := t.TempDir()
	var commands []*exec.Cmd
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCacheOfProcesses$")
		cmd.Env = append(os.Environ(), "HEAPLAPSE_TEST_CACHE="+dir, "HEAPLAPSE_TEST_PROGRAM="+standard(t).main)
		require.NoError(t, cmd.Start())
		commands = append(commands, cmd)
	}
	for _, cmd := range commands {
		require.NoError(t, cmd.Wait())
	}
	files := cacheFiles(t, dir)
	require.Len(t, files, 1)
	require.GreaterOrEqual(t, answersIn(t, files[0]), 150)
}

// TestCacheUse checks that reading a file marks it as used.
func TestCacheUse(t *testing.T) {
	path, dir := standard(t).main, t.TempDir()
	addrs := textAddresses(t, path)[:10]
	cached(t, path, addrs, dir)
	file := cacheFiles(t, dir)[0]
	long := time.Now().Add(-24 * time.Hour)
	require.NoError(t, os.Chtimes(file, long, long))
	cached(t, path, addrs, dir)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, time.Since(info.ModTime()), time.Hour)
}
