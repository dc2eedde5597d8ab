package symcache

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of package symbolize check the cache as a whole: answers, keys, damage, concurrent
// writers.

func encoded(t testing.TB, b *builder) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, b.encode(&out))
	require.Equal(t, out.Len(), b.size())
	return out.Bytes()
}

// summed corrects the checksum of a cache file.
func summed(data []byte) []byte {
	body := len(data) - 4
	binary.LittleEndian.PutUint32(data[body:], crc32.Checksum(data[:body], castagnoli()))
	return data
}

// TestOldFile reads a file that commit fb6c0e5 wrote, when the cache was part of package symbolize:
//
//	printf '0\n1000\n1010\n1030\n' | heaplapse symbolize -e old.so
//
// old.so was compiled from old.c by gcc -O2 -g -shared -nostdlib -fPIC -Wl,--build-id
// -ffile-prefix-map=$PWD=/src:
//
//	static inline __attribute__((always_inline)) int square(volatile int *v) { return *v * *v; }
//	int f(int n) { int r = 0; for (int i = 0; i < n; i++) r += square(&i); return r; }
func TestOldFile(t *testing.T) {
	data, err := os.ReadFile("testdata/fb6c0e5.sym")
	require.NoError(t, err)
	table, err := decode(string(data))
	require.NoError(t, err)
	require.Contains(t, table.key, "names 3 demangle 3 exact true\nmodule build ID ")
	require.Equal(t, 4, table.len())
	var e Entry
	require.True(t, table.find(0x1011, &e), "ELF addresses are stored plus 1")
	require.Equal(t, Entry{Source: 1, Frames: []StoredFrame{
		{Function: "square", File: "/src/old.c", Line: 1, Column: 86, StartLine: 1, Inlined: true},
		{Function: "f", Linkage: "f", File: "/src/old.c", Line: 2, Column: 60, StartLine: 2},
	}}, e)
	require.False(t, table.find(0x1012, &e))
	b := newBuilder(table.key, 0)
	table.copyTo(b)
	require.Equal(t, data, encoded(t, b), "the same file is written again")
}

// TestTrim checks that the least recently used files are removed first, and other files never.
func TestTrim(t *testing.T) {
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
	put("notes.txt", 1000, 9*time.Hour)
	require.NoError(t, trim(dir, 250))
	var left []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	require.Equal(t, []string{"middle.sym", "new.sym", "notes.txt"}, left)
}

// TestDepth checks that chains of callers that are too long, or expand to much more than the file
// holds, are damage.
func TestDepth(t *testing.T) {
	chain := func(depth, answers int) []byte {
		b := newBuilder("key", 0)
		frames := make([]StoredFrame, depth)
		for i := range frames {
			frames[i] = StoredFrame{Function: "f", Line: i, Inlined: i+1 < depth}
		}
		for i := range answers {
			b.add(uint64(i), &Entry{Frames: frames, Source: 1})
		}
		return encoded(t, b)
	}
	for _, c := range []struct {
		depth, answers int
		ok             bool
	}{{10, 1000, true}, {maxDepth, 1, true}, {maxDepth + 1, 1, false}, {maxDepth, 100, false}} {
		_, err := decode(string(chain(c.depth, c.answers)))
		require.Equal(t, c.ok, err == nil, "%+v", c)
	}
}

// FuzzDecode checks that any bytes are rejected, or that every answer can be read, and that writing
// the answers produces a file with the same answers.
func FuzzDecode(f *testing.F) {
	b := newBuilder("module build ID ab", 1)
	shared := StoredFrame{Function: "main", Linkage: "main", File: "/src/main.c", Line: 7, Column: 3, StartLine: 5}
	b.add(0x1000, &Entry{Frames: []StoredFrame{{Function: "f()", Linkage: "_Z1fv", Line: 2, Inlined: true}, shared}, Source: 1})
	b.add(0x1010, &Entry{Frames: []StoredFrame{shared}, Source: 1})
	b.add(0x2000, &Entry{Reason: 3, Near: "g", NearDistance: 16})
	f.Add(encoded(f, b), uint64(0x1000))
	f.Add(encoded(f, newBuilder("", 0)), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		if len(data) >= headerSize+4 {
			data = summed(slices.Clone(data)) // past the checksum
		}
		table, err := decode(string(data))
		if err != nil {
			require.Nil(t, table)
			return
		}
		var e Entry
		if table.find(addr, &e) {
			require.Equal(t, len(e.Frames) > 0, e.Source != 0)
		}
		b := newBuilder(table.key, table.flags)
		table.copyTo(b)
		again, err := decode(string(encoded(t, b)))
		require.NoError(t, err)
		require.Equal(t, table.len(), again.len())
		for i := range table.len() {
			var one, other Entry
			table.read(i, &one)
			again.read(i, &other)
			require.Equal(t, one, other)
		}
		require.True(t, strings.HasPrefix(string(data), magic))
	})
}
