package heapfile_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// refusals are files that are not snapshots, each with the complete message.
func refusals(t testing.TB) map[string]struct{ content, message string } {
	return map[string]struct{ content, message string }{
		"a Java heapz": {"--- heapz 1 ---\nformat = java\nresolution = bytes\n",
			"test.heap: not a heap snapshot: a Java heap profile; open it with `pprof`"},
		"DUMP_DEEP": {"heap profile: DUMP_DEEP_6\n",
			"test.heap: not a heap snapshot: a DUMP_DEEP profile of Chromium's deep heap profiler; its format is not supported; record with plain HEAPPROFILE"},
		"an ELF file": {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01",
			"test.heap: not a heap snapshot: an ELF file; name the snapshots that the program wrote, not the program"},
		"a core file": {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x3e\x00\x01",
			"test.heap: not a heap snapshot: a core file; heap snapshots are written by a preloaded allocator, see HEAPPROFILE or MALLOC_CONF"},
		"an empty file": {"",
			"test.heap: not a heap snapshot: an empty file; the process or the disk ended before it was written; remove it or record again"},
		"an empty .gz": {string(testutil.Gzipped(t, "")),
			"test.heap: not a heap snapshot: a compressed file without content; it is truncated, or was empty before; remove it or record again"},
		"a .gz within a .gz": {string(testutil.Gzipped(t, string(testutil.Gzipped(t, heaptest.Exact("0: 0 [0: 0]"))))),
			"test.heap: not a heap snapshot: compressed twice; decompress it once"},
		"a zip archive":            {"PK\x03\x04\x14\x00", "test.heap: not a heap snapshot: a zip archive; unpack it first"},
		"a tar archive":            {strings.Repeat("\x00", 257) + "ustar", "test.heap: not a heap snapshot: a tar archive; unpack it first"},
		"an xz file":               {"\xfd7zXZ\x00", "test.heap: not a heap snapshot: compressed with xz; decompress it first: unxz"},
		"a gperftools CPU profile": {cpuProfile(), "test.heap: not a heap snapshot: a gperftools CPU profile; open it with `pprof`"},
		"massif":                   {"desc: --time-unit=ms\n", "test.heap: not a heap snapshot: a recording of massif; give it a name without .heap, such as massif.out"},
		"heaptrack":                {"v 10400 3\n", "test.heap: not a heap snapshot: a recording of heaptrack; give it a name without .heap, such as heaptrack.zst"},
		"JSON":                     {`{"a": 1}`, "test.heap: not a heap snapshot: a JSON file; name the snapshots that the program wrote"},
		"text": {"hello\nworld\n",
			`test.heap: not a heap snapshot: its first line is "hello"; a snapshot starts with "heap profile:" or "heap_v2/"`},
		"binary": {"ab\x00cd\n", "test.heap: not a heap snapshot: a binary file of unknown kind"},
		"an unknown kind": {"heap profile: 1: 2 [1: 2] @ heapnew\n",
			`test.heap: not a heap snapshot: a heap profile whose header is not understood; expected "heap profile: OBJECTS: BYTES [OBJECTS: BYTES] @ KIND", with a kind like heapprofile or heap_v2/524288`},
		"nothing but the writer's warnings": {"%warn\n%warn no data\n",
			"test.heap: not a heap snapshot: it ends before its header line; the process or the disk ended while it was written; remove it or record again"},
		"a symbol section alone": {"--- symbol\nbinary=/b\n0x1 f\n",
			"test.heap: not a heap snapshot: it ends before its header line; the process or the disk ended while it was written; remove it or record again"},
	}
}

func cpuProfile() string {
	var b []byte
	for _, word := range []uint64{0, 3, 0, 10000, 0} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return string(b)
}

func TestOtherFilesAreRefused(t *testing.T) {
	for name, c := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			s, err := heapfile.Read(strings.NewReader(c.content), textName)
			require.Nil(t, s)
			require.EqualError(t, err, c.message)
			var format *heapfile.FormatError
			require.ErrorAs(t, err, &format)
		})
	}
}

func TestReadFileRefusesADirectory(t *testing.T) {
	dir := t.TempDir()
	s, err := heapfile.ReadFile(dir)
	require.Nil(t, s)
	require.EqualError(t, err, dir+": cannot be read: a directory, not a regular file")
}

func TestErrorNamesTheMissingFile(t *testing.T) {
	_, err := heapfile.ReadFile("/nowhere/x.heap")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, err, "/nowhere/x.heap: cannot be read: no such file or directory")
}

func TestErrorNamesTheLineOfAnInvalidPeriod(t *testing.T) {
	s, err := heapfile.Read(strings.NewReader("--- symbol\n---\n--- heap\nheap_v2/many\n"), textName)
	require.Nil(t, s)
	require.EqualError(t, err, `test.heap:4: the sampling period "many" is not a number`)
}

func TestCompressedFilesAreRead(t *testing.T) {
	text := heaptest.Exact("1: 2 [1: 2]", "1: 2 [1: 2] @ 0x1")
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"gzip":               testutil.Gzipped(t, text),
		"gzip in two pieces": append(testutil.Gzipped(t, text[:20]), testutil.Gzipped(t, text[20:])...),
		"zstd":               z.EncodeAll([]byte(text), nil),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := heapfile.Read(bytes.NewReader(data), textName)
			require.NoError(t, err)
			require.Equal(t, []string{"1: 2 [1: 2] @ 0x1"}, show(s))
			require.Equal(t, int64(len(text)), s.Size, "the size after decompression")
		})
	}
}

func TestDamagedCompressionIsAnErrorWithFileAndLine(t *testing.T) {
	row := "0: 0 [0: 0] @ 0x1\n"
	data := testutil.Gzipped(t, heaptest.Exact("0: 0 [0: 0]")[:40]+"\n"+strings.Repeat(row, 100))
	data[len(data)-5] ^= 0xff // the checksum
	s, err := heapfile.Read(bytes.NewReader(data), textName)
	require.Nil(t, s)
	require.ErrorIs(t, err, gzip.ErrChecksum)
	require.Regexp(t, `^test\.heap:[1-9][0-9]*: `, err.Error())
}

func TestErrorNamesItsFileOnce(t *testing.T) {
	data := testutil.Gzipped(t, heaptest.Exact("1: 2 [1: 2]"))
	data[len(data)-5] ^= 1
	_, err := heapfile.Read(bytes.NewReader(data), textName)
	require.ErrorIs(t, err, gzip.ErrChecksum)
	require.Equal(t, 1, strings.Count(err.Error(), textName), err.Error())
}

// A truncated compressed file is read like a truncated plain one.
func TestTruncatedCompressedFileIsReadUpToItsEnd(t *testing.T) {
	text := string(testutil.Plain(t, testutil.Data(t, "python/python.0012.heap.gz")))
	whole, err := heapfile.Read(strings.NewReader(text), textName)
	require.NoError(t, err)
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, data := range map[string][]byte{"gzip": testutil.Gzipped(t, text), "zstd": z.EncodeAll([]byte(text), nil)} {
		for _, share := range []int{40, 70, 99} {
			s, err := heapfile.Read(bytes.NewReader(data[:len(data)*share/100]), textName)
			require.NoError(t, err, "%s, %d %%", name, share)
			require.Less(t, 0, s.Rows)
			require.LessOrEqual(t, s.Rows, whole.Rows)
			for i := range s.Samples[:s.Rows-1] { // the last row may be truncated
				require.Equal(t, whole.Samples[i].Counts, s.Samples[i].Counts)
			}
			heaptest.Find(t, s.Warnings, heapfile.WarnUnfinished)
		}
	}
}

// A line without end is dropped while it is read.
func TestLongFirstLineIsRefusedInBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := heapfile.Read(&zeros{1 << 28}, textName)
	runtime.ReadMemStats(&after)
	require.Nil(t, s)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// zeros yields n times the digit 0.
type zeros struct{ n int }

func (z *zeros) Read(b []byte) (int, error) {
	if z.n <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(b), z.n)
	for i := range n {
		b[i] = '0'
	}
	z.n -= n
	return n, nil
}

// TestTimesOfAFile: the time in the header of gzip, unless it stands for none, and that of the file.
func TestTimesOfAFile(t *testing.T) {
	recorded, modified := time.Unix(1_700_000_000, 0), time.Unix(1_700_000_100, 0)
	for header, want := range map[time.Time]time.Time{
		recorded: recorded, {}: {}, time.Unix(0x886e0900, 0): {},
	} {
		path := filepath.Join(t.TempDir(), "p.0001.heap.gz")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.ModTime = header
		_, err := z.Write([]byte(heaptest.Exact("0: 0 [0: 0]")))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
		require.NoError(t, os.Chtimes(path, modified, modified))

		s, err := heapfile.ReadFile(path)
		require.NoError(t, err)
		require.True(t, want.Equal(s.Recorded), s.Recorded)
		require.True(t, modified.Equal(s.Modified))
	}
}
