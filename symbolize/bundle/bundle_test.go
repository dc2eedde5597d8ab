package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/spool"
	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/internal/elffile"
)

// leakyContents returns the contents of a bundle of testdata/leaky.
func leakyContents(t testing.TB) (*Contents, *symbolize.Symbols) {
	t.Helper()
	return contentsOf(t, testutil.Data(t, "leaky"), symbolize.Options{Sysroot: testutil.Data(t, "leaky/sysroot")})
}

func contentsOf(t testing.TB, dir string, search symbolize.Options) (*Contents, *symbolize.Symbols) {
	t.Helper()
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	c := Collector{Writer: "test", Search: search}
	symbols, err := c.Add(t.Context(), s)
	require.NoError(t, err)
	contents, err := c.Contents()
	require.NoError(t, err)
	return contents, symbols
}

func packed(t testing.TB, c *Contents) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.Write(t.Context(), &b))
	return b.Bytes()
}

// saved writes a file and returns its path.
func saved(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestSameNames(t *testing.T) {
	contents, want := leakyContents(t)
	requireNames(t, contents, want)
}

// requireNames writes and opens a bundle, and compares its index and the names.
func requireNames(t *testing.T, contents *Contents, want *symbolize.Symbols) {
	t.Helper()
	b, err := Open(saved(t, packed(t, contents)))
	require.NoError(t, err)
	require.Equal(t, contents.Index, b.Index)
	s, err := series.Open(nil, series.Options{Sources: b.Sources(), FS: b.FS()})
	require.NoError(t, err)
	defer s.Close()
	got, err := symbolize.Resolve(t.Context(), s, b.Options(s.Process))
	require.NoError(t, err)
	require.Equal(t, want.Locations, got.Locations)
	require.Equal(t, want.Modules, got.Modules)
	require.NoError(t, b.Close())
}

// TestVDSO bundles the image of [vdso] that the recorder kept.
func TestVDSO(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("this test needs /proc")
	}
	dir := t.TempDir()
	line := regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$`).FindStringSubmatch(string(maps))
	if line == nil {
		t.Skip("this kernel has no [vdso]")
	}
	start, err := strconv.ParseInt(line[1], 16, 64)
	require.NoError(t, err)
	end, err := strconv.ParseInt(line[2], 16, 64)
	require.NoError(t, err)
	memory, err := os.Open("/proc/self/mem")
	require.NoError(t, err)
	defer memory.Close()
	image := make([]byte, end-start)
	_, err = memory.ReadAt(image, start)
	require.NoError(t, err)
	file, err := elf.NewFile(bytes.NewReader(image))
	require.NoError(t, err)
	exported, err := file.DynamicSymbols()
	require.NoError(t, err)
	var text strings.Builder
	text.WriteString("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @")
	for _, s := range exported[:min(4, len(exported))] { // 5 addresses without a call before them would look like a rebuilt file
		fmt.Fprintf(&text, " 0x%x", uint64(start)+s.Value+2)
	}
	text.WriteString("\n\nMAPPED_LIBRARIES:\n" + line[0] + "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.0001.heap"), []byte(text.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifest.VDSOFile), image, 0o600))
	contents, want := contentsOf(t, dir, symbolize.Options{})
	require.True(t, slices.ContainsFunc(want.Locations, func(l symbolize.Location) bool { return l.Named() }))
	requireNames(t, contents, want)
}

// TestOldBundle reads a bundle that commit fb6c0e5 wrote: see testdata/README.md.
func TestOldBundle(t *testing.T) {
	b, err := Open(testutil.Data(t, "bundle", "fb6c0e5"+Suffix))
	require.NoError(t, err)
	defer b.Close()
	s, err := series.Open(nil, series.Options{Sources: b.Sources(), FS: b.FS()})
	require.NoError(t, err)
	defer s.Close()
	require.Len(t, s.Heads, 6)
	symbols, err := symbolize.Resolve(t.Context(), s, b.Options(s.Process))
	require.NoError(t, err)
	require.Empty(t, symbols.Warnings)
	require.Len(t, symbols.Modules, 1)
	require.Equal(t, "root/usr/lib/debug/opt/old/libold.so.debug", symbols.Modules[0].Debug)
	got := map[symbolize.Source][]symbolize.Frame{}
	for _, l := range symbols.Locations {
		if l.Named() {
			got[l.Source] = l.Frames
		} else {
			require.Equal(t, symbolize.ReasonNoSegment, l.Reason)
			require.Equal(t, "libold.so+0x1234", symbols.Label(&l))
		}
	}
	require.Equal(t, map[symbolize.Source][]symbolize.Frame{
		symbolize.SourceDWARF: {
			{Function: "block", Linkage: "block", File: "/src/old.c", Line: 4, Column: 75, StartLine: 4},
		},
		symbolize.SourceExports: {{Function: "malloc@plt", Linkage: "malloc@plt"}},
		symbolize.SourcePerfMap: {{Function: "serve", File: "/srv/old.js", Line: 3, Column: 7, StartLine: 3}},
	}, got)
}

// TestReproducible checks that the bytes of a bundle do not depend on the time, the user or the
// order of work.
func TestReproducible(t *testing.T) {
	first, _ := leakyContents(t)
	second, _ := leakyContents(t)
	require.Equal(t, packed(t, first), packed(t, second))
	z, err := zstd.NewReader(bytes.NewReader(packed(t, first)))
	require.NoError(t, err)
	defer z.Close()
	last := ""
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.True(t, h.ModTime.IsZero() || h.ModTime.Unix() == 0)
		require.Zero(t, h.Uid+h.Gid)
		if last != "" && last != indexName {
			require.Less(t, last, h.Name)
		}
		last = h.Name
	}
}

// TestUnpackedFilesAreELF checks that an unpacked file has the size of the original, and its
// content or zeros.
func TestUnpackedFilesAreELF(t *testing.T) {
	contents, _ := leakyContents(t)
	b, err := Open(saved(t, packed(t, contents)))
	require.NoError(t, err)
	defer b.Close()
	original := testutil.Data(t, "leaky/sysroot/opt/leaky/bin/leaky")
	unpacked, err := source{b}.find(original)
	require.NoError(t, err)
	whole, err := os.ReadFile(original)
	require.NoError(t, err)
	kept, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Len(t, kept, len(whole))
	for i := range whole {
		require.True(t, kept[i] == whole[i] || kept[i] == 0, "0x%x", i)
	}
	require.NotEqual(t, whole, kept)
	_, err = source{b}.find("/usr/bin/env")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestWriteCanceled(t *testing.T) {
	contents, _ := leakyContents(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, contents.Write(ctx, io.Discard), context.Canceled)
}

func TestChangedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lib")
	require.NoError(t, os.WriteFile(path, []byte("12345678"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	c := &Contents{parts: []part{{entry: "root/lib", path: path, keep: []elffile.Range{{Offset: 2, Size: 3}}, info: info}}}
	require.NoError(t, c.Write(t.Context(), io.Discard))
	require.NoError(t, os.WriteFile(path, []byte("12345678 and more"), 0o600))
	require.ErrorContains(t, c.Write(t.Context(), io.Discard), "lib: changed while it was read: run this again")
	require.NoError(t, os.WriteFile(path, []byte("1"), 0o600))
	require.ErrorContains(t, c.Write(t.Context(), io.Discard), "lib: became shorter while it was read: run this again")
}

// TestReplacedSnapshot: a snapshot may grow, but the bundle has no part of another file.
func TestReplacedSnapshot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.0001.heap")
	require.NoError(t, os.WriteFile(path, []byte("heap profile: "), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	c := &Contents{parts: []part{{entry: "snapshots/1/p.0001.heap", path: path, info: info}}}
	require.NoError(t, os.WriteFile(path, []byte("heap profile: 1: 2"), 0o600))
	require.NoError(t, c.Write(t.Context(), io.Discard))
	require.NoError(t, os.WriteFile(path+".new", []byte("heap profile: 3: 4"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	require.ErrorContains(t, c.Write(t.Context(), io.Discard), "p.0001.heap: changed while it was read: run this again")
}

// TestRemovedSnapshots bundles a recording whose recorder removes and compresses snapshots meanwhile.
func TestRemovedSnapshots(t *testing.T) {
	dir := t.TempDir()
	path := func(n int) string { return filepath.Join(dir, fmt.Sprintf("p.%04d.heap", n)) }
	for n := 1; n <= 4; n++ {
		require.NoError(t, os.WriteFile(path(n), []byte("heap profile: 1: 2 [ 1: 2] @ heapprofile\n1: 2 [ 1: 2] @ 0x401000\n\nMAPPED_LIBRARIES:\n"), 0o600))
	}
	s, err := series.Open([]string{dir}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	c := Collector{Writer: "test"}
	_, err = c.Add(t.Context(), s)
	require.NoError(t, err)

	require.NoError(t, os.Remove(path(1)))
	text, err := os.ReadFile(path(2))
	require.NoError(t, err)
	zipped(t, path(2)+".gz", string(text), time.Time{})
	require.NoError(t, os.Remove(path(2)))
	contents, err := c.Contents()
	require.NoError(t, err)
	require.Equal(t, 3, contents.Stats().Snapshots)
	require.Equal(t, 1, contents.Stats().Removed)

	require.NoError(t, os.Remove(path(2)+".gz"))
	require.NoError(t, os.Remove(path(3)))
	b, err := Open(saved(t, packed(t, contents)))
	require.NoError(t, err)
	defer b.Close()
	again, err := series.Open(nil, series.Options{Sources: b.Sources(), FS: b.FS()})
	require.NoError(t, err)
	defer again.Close()
	require.Len(t, again.Heads, 3)

	require.NoError(t, os.Remove(path(4)))
	_, err = c.Contents()
	require.ErrorContains(t, err, "all snapshots were removed while they were read: run this again")
}

func TestEntryNames(t *testing.T) {
	c := &Contents{}
	for _, step := range [][2]string{
		{"/usr/bin/x", "root/usr/bin/x"}, {"../../etc/x", "root/etc/x"}, {"/etc/x", "root2/etc/x"}, {"/etc/x/y", "root3/etc/x/y"}, {`a\..\b`, "root/a_.._b"},
	} {
		entry := c.entryFor(step[0])
		require.Equal(t, step[1], entry)
		c.parts = append(c.parts, part{entry: entry})
	}
}

// entry is an entry of a hostile archive.
type entry struct {
	name, content string
	kind          byte
	link          string
}

// archiveOf returns an archive with any entries.
func archiveOf(t testing.TB, index any, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	text, err := json.Marshal(index)
	require.NoError(t, err)
	for _, e := range append([]entry{{name: indexName, content: string(text)}}, entries...) {
		h := &tar.Header{Name: e.name, Size: int64(len(e.content)), Typeflag: e.kind, Linkname: e.link, Mode: 0o644}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

// indexOf returns an index of snapshots with these entries.
func indexOf(names ...string) Index {
	ix := Index{Schema: Schema}
	for _, n := range names {
		ix.Snapshots = append(ix.Snapshots, Snapshot{Entry: n, Path: "/p/" + filepath.Base(n), Modified: time.Unix(1, 0).UTC()})
	}
	return ix
}

func TestHostileArchives(t *testing.T) {
	const name = "snapshots/1/p.0001.heap"
	for rule, c := range map[string]struct {
		data    []byte
		message string
	}{
		"a name outside":            {archiveOf(t, indexOf("../p.heap"), entry{name: "../p.heap"}), `"../p.heap" is not the name of an entry`},
		"a name with ..":            {archiveOf(t, indexOf("a/../../p.heap")), "is not the name of an entry"},
		"an absolute name":          {archiveOf(t, indexOf("/etc/p.heap"), entry{name: "/etc/p.heap"}), "is not the name of an entry"},
		"no name":                   {archiveOf(t, indexOf("")), "is not the name of an entry"},
		"a link":                    {archiveOf(t, indexOf(name), entry{name: name, kind: tar.TypeSymlink, link: "/etc/passwd"}), `entry "` + name + `" is not one of the index`},
		"a hard link":               {archiveOf(t, indexOf(name), entry{name: name, kind: tar.TypeLink, link: indexName}), "is not one of the index"},
		"a directory":               {archiveOf(t, indexOf("d"), entry{name: "d/", kind: tar.TypeDir}), "is not one of the index"},
		"an entry not in the index": {archiveOf(t, indexOf(name), entry{name: "root/x", content: "x"}), `entry "root/x" is not one of the index`},
		"an entry twice":            {archiveOf(t, indexOf(name), entry{name: name}, entry{name: name}), "is not one of the index"},
		"an entry is missing":       {archiveOf(t, indexOf(name, name+"2"), entry{name: name}), `1 entries of the index are missing, such as "` + name + `2"`},
		"no snapshots":              {archiveOf(t, indexOf()), "it holds no snapshots"},
		"another version":           {archiveOf(t, Index{Schema: "heaplapse.bundle/2"}), `schema "heaplapse.bundle/2", want "heaplapse.bundle/1": written by another version of heaplapse`},
		"a malformed index":         {archiveOf(t, "text"), "cannot unmarshal"},
		"not zstd":                  {[]byte("hello"), "not a usable bundle"},
		"empty":                     {nil, "not a usable bundle"},
	} {
		t.Run(rule, func(t *testing.T) {
			path := saved(t, c.data)
			b, err := Open(path)
			require.Nil(t, b)
			require.ErrorContains(t, err, path+": not a usable bundle: ")
			require.ErrorContains(t, err, c.message)
		})
	}
}

// TestBombs checks the limits of the unpacked size, both of the content and of the sizes in
// headers.
func TestBombs(t *testing.T) {
	fill := func(limit int64, content string) error {
		b := &Bundle{files: map[string]*File{}}
		var err error
		b.spool, err = spool.New()
		require.NoError(t, err)
		defer b.Close()
		b.spool.Limit = limit
		u := unpacker{bundle: b}
		return u.unpack(bytes.NewReader(archiveOf(t, indexOf("a"), entry{name: "a", content: content})))
	}
	require.NoError(t, fill(1<<20, strings.Repeat("x", 1<<20)))
	require.ErrorContains(t, fill(1<<20-1, strings.Repeat("x", 1<<20)), `entry "a": it expands to more than its size allows`)
	require.NoError(t, fill(1, strings.Repeat("\x00", 1<<22)), "holes take no space")

	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	text, err := json.Marshal(indexOf("a"))
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(header(indexName, int64(len(text)))))
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(header("a", maxApparent+1)))
	require.NoError(t, z.Close())
	_, err = Open(saved(t, b.Bytes()))
	require.ErrorContains(t, err, `entry "a": it unpacks to more than`)
}

// TestTruncated checks that a bundle is rejected wherever it is truncated.
func TestTruncated(t *testing.T) {
	data := archiveOf(t, indexOf("a"), entry{name: "a", content: strings.Repeat("heap", 1000)})
	for n := range data {
		_, err := Read(bytes.NewReader(data[:n]), int64(n), "truncated")
		require.Error(t, err, "%d of %d bytes", n, len(data))
	}
}

func TestIs(t *testing.T) {
	require.True(t, Is(saved(t, archiveOf(t, indexOf("a"), entry{name: "a"}))))
	var other bytes.Buffer
	z, err := zstd.NewWriter(&other)
	require.NoError(t, err)
	_, err = z.Write([]byte("heap profile: 1: 2 [ 3: 4] @ heapprofile\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for _, path := range []string{saved(t, other.Bytes()), saved(t, nil), t.TempDir(), "/dev/null", "/nowhere"} {
		require.False(t, Is(path), path)
	}
}

// FuzzRead checks that a bundle has no named file anywhere, and that an accepted one has the entries
// of its index.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"heaplapse.bundle/1","snapshots":[{"entry":"a/b"}]}`), "a/b", byte(tar.TypeReg), []byte("x"))
	f.Add([]byte(`{"schema":"heaplapse.bundle/1","snapshots":[{"entry":"../b"}]}`), "../b", byte(tar.TypeReg), []byte("x"))
	f.Add([]byte(`{"schema":"heaplapse.bundle/1","files":[{"entry":"l"}],"snapshots":[{"entry":"l"}]}`), "l", byte(tar.TypeSymlink), []byte(""))
	f.Fuzz(func(t *testing.T, index []byte, name string, kind byte, content []byte) {
		var archive bytes.Buffer
		z, err := zstd.NewWriter(&archive, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		w := tar.NewWriter(z)
		for _, h := range []struct {
			header *tar.Header
			data   []byte
		}{
			{header(indexName, int64(len(index))), index},
			{&tar.Header{Name: name, Typeflag: kind, Linkname: "/etc/passwd", Size: int64(len(content))}, content},
		} {
			if w.WriteHeader(h.header) != nil {
				return
			}
			_, _ = w.Write(h.data)
		}
		_ = w.Close()
		require.NoError(t, z.Close())
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		b, err := Read(&archive, int64(archive.Len()), "archive")
		left, listed := os.ReadDir(dir)
		require.NoError(t, listed)
		require.Empty(t, left)
		if err == nil {
			requireEntries(t, b)
			require.NoError(t, b.Close())
		}
	})
}

// requireEntries compares the unpacked files with the index.
func requireEntries(t *testing.T, b *Bundle) {
	t.Helper()
	for name := range b.Index.entries() {
		_, err := b.spool.File(name)
		require.NoError(t, err)
	}
}
