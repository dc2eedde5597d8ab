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
	got, err := ELF(path, addrs, Options{Demangle: DemangleFull, CacheDir: dir, DebugDirs: []string{}})
	require.NoError(t, err)
	return got
}

// cacheFiles are the files of a cache.
func cacheFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+cacheSuffix))
	require.NoError(t, err)
	return files
}

// poison makes all answers of a cache's only file say "poisoned", so that a test sees who answers.
func poison(t testing.TB, dir string) {
	t.Helper()
	files := cacheFiles(t, dir)
	require.Len(t, files, 1)
	table := tableOf(t, files[0])
	b := newCacheBuilder(table.key, table.flags)
	for i := range table.len() {
		b.add(table.address(i), &Location{Frames: []Frame{{Function: "poisoned"}}, Source: SourceDWARF})
	}
	require.NoError(t, os.WriteFile(files[0], encoded(t, b), 0o600))
}

func tableOf(t testing.TB, path string) *cacheTable {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	table, err := decodeCache(string(data))
	require.NoError(t, err)
	return table
}

func encoded(t testing.TB, b *cacheBuilder) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, b.encode(&out))
	require.Equal(t, out.Len(), b.size())
	return out.Bytes()
}

func poisoned(l Location) bool { return l.Named() && l.Frames[0].Function == "poisoned" }

// TestCacheAnswers: answers from the cache are those without one, reasons and hints included, and what it lacks is
// resolved and added.
func TestCacheAnswers(t *testing.T) {
	path, dir := standard(t).main, filepath.Join(t.TempDir(), "made", "if need be")
	addrs := append(textAddresses(t, path), 1, 2, 1<<40) // the last ones have no function
	want := locate(t, path, addrs)
	third := len(addrs) / 3
	for _, part := range [][]uint64{addrs[:third], addrs[third/2 : 2*third], addrs, addrs} {
		got := cached(t, path, part, dir)
		from := slices.Index(addrs, part[0])
		require.Equal(t, want[from:from+len(part)], got)
		require.Len(t, cacheFiles(t, dir), 1)
	}
	require.Equal(t, len(addrs), tableOf(t, cacheFiles(t, dir)[0]).len())
	poison(t, dir)
	for _, l := range cached(t, path, addrs, dir) {
		require.True(t, poisoned(l), "it was resolved again")
	}
}

// TestCacheOfSeries: Resolve uses the cache, and gives modules the same description.
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

// TestCacheIsOff: without a directory nothing is written.
func TestCacheIsOff(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cached(t, standard(t).main, textAddresses(t, standard(t).main)[:100], "")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCacheKeys: whatever the answers depend on has a file of its own; the old one is not asked.
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
			got, err := ELF(path, addrs, o)
			require.NoError(t, err)
			for _, l := range got {
				require.False(t, poisoned(l))
			}
			require.Len(t, cacheFiles(t, dir), 2)
		})
	}
}

// TestCacheWithoutBuildID: a file without one is told by path, inode, size and time, and not at all if it changed just now.
func TestCacheWithoutBuildID(t *testing.T) {
	path, dir := relinked(t, "-Wl,--build-id=none"), t.TempDir()
	addrs := textAddresses(t, path)[:200]
	cached(t, path, addrs, dir)
	require.Empty(t, cacheFiles(t, dir), "it is not settled")
	before := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, before, before))
	cached(t, path, addrs, dir)
	poison(t, dir)
	require.True(t, poisoned(cached(t, path, addrs, dir)[0]))

	// Replaced by one of the same size and time: it has another inode.
	other := path + ".new"
	copyFile(t, path, other)
	require.NoError(t, os.Chtimes(other, before, before))
	require.NoError(t, os.Rename(other, path))
	require.False(t, poisoned(cached(t, path, addrs, dir)[0]))
}

// TestCacheOfDebugFile: a debug file that appears, changes or goes makes the old answers unasked.
func TestCacheOfDebugFile(t *testing.T) {
	path := relinked(t, "-Wl,--build-id=0xcc11223344")
	addrs := textAddresses(t, path)[:500]
	debugDir, dir := t.TempDir(), t.TempDir()
	debug := filepath.Join(debugDir, ".build-id/cc/11223344.debug")
	require.NoError(t, os.MkdirAll(filepath.Dir(debug), 0o700))
	run(t, "", "objcopy", "--only-keep-debug", path, debug)
	run(t, "", "objcopy", "--strip-all", path)
	with := Options{Demangle: DemangleFull, DebugDirs: []string{debugDir}}
	want, err := ELF(path, addrs, with)
	require.NoError(t, err)
	require.Equal(t, SourceDWARF, want[250].Source)

	bare := cached(t, path, addrs, dir)
	require.NotEqual(t, want, bare)
	with.CacheDir = dir
	for range 2 {
		got, err := ELF(path, addrs, with)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, os.Remove(debug))
	got, err := ELF(path, addrs, with)
	require.NoError(t, err)
	require.Equal(t, bare, got)
}

// TestCacheForgetsFailures: a file that was not found is looked for again.
func TestCacheForgetsFailures(t *testing.T) {
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

// TestCacheOfSplitDebug: names from .dwo files, which the key does not know, are not kept.
func TestCacheOfSplitDebug(t *testing.T) {
	p := compile(t, "g++", []string{"-O2", "-gsplit-dwarf"}, nil)
	dir := t.TempDir()
	addrs := textAddresses(t, p.main)[:500]
	require.Equal(t, locate(t, p.main, addrs), cached(t, p.main, addrs, dir))
	require.Empty(t, cacheFiles(t, dir))
}

// TestCacheDamage: whatever is in the file, the answers are right and the file is replaced.
func TestCacheDamage(t *testing.T) {
	path, dir := standard(t).main, t.TempDir()
	addrs := textAddresses(t, path)[:300]
	want := cached(t, path, addrs, dir)
	file := cacheFiles(t, dir)[0]
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	damages := map[string][]byte{
		"empty": {}, "text": []byte("not a cache\n"), "cut": whole[:len(whole)/2], "cut by one": whole[:len(whole)-1],
		"longer": append(slices.Clone(whole), 0), "another magic": append([]byte("hlsyms\x002"), whole[8:]...),
	}
	for i := range 20 {
		at := i * len(whole) / 20
		flipped := slices.Clone(whole)
		flipped[at] ^= 0x10
		damages[fmt.Sprintf("byte %d", at)] = flipped
	}
	for i := range 6 { // hostile counts, with a right checksum
		hostile := slices.Clone(whole)
		binary.LittleEndian.PutUint32(hostile[len(cacheMagic)+4*i:], 1<<32-1)
		if i < 5 { // flags may be any
			damages[fmt.Sprintf("count %d", i)] = summed(hostile)
		}
	}
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, data, 0o600))
			require.Equal(t, want, cached(t, path, addrs, dir))
			repaired, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole, repaired), "it is replaced by what was there")
		})
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	require.Equal(t, want, cached(t, path, addrs, dir), "a directory in its place")
}

// summed gives a file a right checksum.
func summed(data []byte) []byte {
	body := len(data) - 4
	binary.LittleEndian.PutUint32(data[body:], crc32.Checksum(data[:body], castagnoli()))
	return data
}

// TestCacheCannotBeWritten: no answer depends on it.
func TestCacheCannotBeWritten(t *testing.T) {
	path := standard(t).main
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	addrs := textAddresses(t, path)[:100]
	require.Equal(t, locate(t, path, addrs), cached(t, path, addrs, filepath.Join(file, "cache")))
}

// TestCacheTogether: many that read and write one cache at once each get right answers and leave a whole file and nothing else.
func TestCacheTogether(t *testing.T) {
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
				got, err := ELF(path, mine, Options{Demangle: DemangleFull, CacheDir: dir, DebugDirs: []string{}})
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
	require.Len(t, entries, 1, "no temporary file is left")
	table := tableOf(t, filepath.Join(dir, entries[0].Name()))
	require.GreaterOrEqual(t, table.len(), part)
	require.Equal(t, want, cached(t, path, addrs, dir))
}

// TestCacheOfProcesses: two processes that write at once leave a whole file.
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
	require.GreaterOrEqual(t, tableOf(t, files[0]).len(), 150)
}

// TestCacheLimit: the files that were not used for longest go first; abandoned temporary files go, strange files stay.
func TestCacheLimit(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	put := func(name string, size int, age time.Duration) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
	}
	put("old.sym", 100, 3*time.Hour)
	put("middle.sym", 100, 2*time.Hour)
	put("new.sym", 100, time.Hour)
	put(".tmp-1.sym", 100, 2*time.Hour)
	put(".tmp-2.sym", 100, time.Minute)
	put("notes.txt", 1000, 9*time.Hour)
	require.NoError(t, trimCache(dir, 250))
	var left []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	require.Equal(t, []string{".tmp-2.sym", "middle.sym", "new.sym", "notes.txt"}, left)
}

// TestCacheUse: reading a file marks it as used.
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

// TestCacheDepth: chains that a file repeats without end, or unfolds to far more than it holds, are damage.
func TestCacheDepth(t *testing.T) {
	chain := func(depth, answers int) []byte {
		b := newCacheBuilder("key", 0)
		frames := make([]Frame, depth)
		for i := range frames {
			frames[i] = Frame{Function: "f", Line: i, Inlined: i+1 < depth}
		}
		for i := range answers {
			b.add(uint64(i), &Location{Frames: frames, Source: SourceDWARF})
		}
		return encoded(t, b)
	}
	for _, c := range []struct {
		depth, answers int
		ok             bool
	}{{10, 1000, true}, {maxCacheDepth, 1, true}, {maxCacheDepth + 1, 1, false}, {maxCacheDepth, 100, false}} {
		_, err := decodeCache(string(chain(c.depth, c.answers)))
		require.Equal(t, c.ok, err == nil, "%+v", c)
	}
}

// FuzzCache: any bytes are refused, or every answer can be given and writes the same file again.
func FuzzCache(f *testing.F) {
	b := newCacheBuilder("module build ID ab", cacheHasDebug)
	shared := Frame{Function: "main", Linkage: "main", File: "/src/main.c", Line: 7, Column: 3, StartLine: 5}
	b.add(0x1000, &Location{Frames: []Frame{{Function: "f()", Linkage: "_Z1fv", Line: 2, Inlined: true}, shared}, Source: SourceDWARF})
	b.add(0x1010, &Location{Frames: []Frame{shared}, Source: SourceDWARF})
	b.add(0x2000, &Location{Reason: ReasonNoFunction, Near: "g", NearDistance: 16})
	f.Add(encoded(f, b), uint64(0x1000))
	f.Add(encoded(f, newCacheBuilder("", 0)), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		if len(data) >= cacheHeaderSize+4 {
			data = summed(slices.Clone(data)) // past the checksum
		}
		table, err := decodeCache(string(data))
		if err != nil {
			require.Nil(t, table)
			return
		}
		var l Location
		if table.find(addr, &l) {
			require.Equal(t, l.Named(), l.Source != SourceNone)
		}
		b := newCacheBuilder(table.key, table.flags)
		table.copyTo(b)
		again, err := decodeCache(string(encoded(t, b)))
		require.NoError(t, err)
		require.Equal(t, table.len(), again.len())
		for i := range table.len() {
			var one, other Location
			table.fill(i, &one)
			again.fill(i, &other)
			require.Equal(t, one, other)
		}
		require.True(t, strings.HasPrefix(string(data), cacheMagic))
	})
}
