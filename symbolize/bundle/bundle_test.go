package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

const leaky = "../../testdata/leaky"

// leakyContents are those of a series of testdata.
func leakyContents(t testing.TB) (*Contents, *symbolize.Symbols) {
	t.Helper()
	s, err := series.Open([]string{leaky}, series.Options{})
	require.NoError(t, err)
	defer s.Close()
	c := Collector{Writer: "test", Search: symbolize.Options{Sysroot: leaky + "/sysroot"}}
	symbols, err := c.Add(s)
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

// saved is a file with these bytes.
func saved(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestABundleGivesTheSameNames(t *testing.T) {
	contents, want := leakyContents(t)
	b, err := Open(saved(t, packed(t, contents)), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, contents.Index, b.Index)
	s, err := series.Open(nil, series.Options{Sources: b.Sources()})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, series.ClockRecorded, s.Clock.Source)
	got, err := symbolize.Resolve(s, b.Options(s.Process))
	require.NoError(t, err)
	require.Equal(t, want.Locations, got.Locations)
	require.Equal(t, want.Modules, got.Modules)
	require.NoError(t, b.Close())
	require.NoDirExists(t, b.dir)
}

// TestTheBytesDependOnTheInputAlone: not on the moment, the user or the order of work.
func TestTheBytesDependOnTheInputAlone(t *testing.T) {
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

// TestUnpackedFilesAreELF: what is unpacked has the size, the headers and the symbols of the original, and no code.
func TestUnpackedFilesAreELF(t *testing.T) {
	contents, _ := leakyContents(t)
	b, err := Open(saved(t, packed(t, contents)), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	original := leaky + "/sysroot/opt/leaky/bin/leaky"
	local, err := b.Find(original)
	require.NoError(t, err)
	whole, err := os.ReadFile(original)
	require.NoError(t, err)
	kept, err := os.ReadFile(local)
	require.NoError(t, err)
	require.Len(t, kept, len(whole))
	for i := range whole {
		require.True(t, kept[i] == whole[i] || kept[i] == 0, "0x%x", i)
	}
	require.NotEqual(t, whole, kept)
	_, err = b.Find("/usr/bin/env")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestWritingEndsWithItsContext(t *testing.T) {
	contents, _ := leakyContents(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, contents.Write(ctx, io.Discard), context.Canceled)
}

func TestAFileThatChangedIsNotBundled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lib")
	require.NoError(t, os.WriteFile(path, []byte("12345678"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	c := &Contents{parts: []part{{entry: "root/lib", path: path, keep: []symbolize.Range{{Offset: 2, Size: 3}}, info: info}}}
	require.NoError(t, c.Write(t.Context(), io.Discard))
	require.NoError(t, os.WriteFile(path, []byte("12345678 and more"), 0o600))
	require.ErrorContains(t, c.Write(t.Context(), io.Discard), "lib: changed while it was read: run this again")
	require.NoError(t, os.WriteFile(path, []byte("1"), 0o600))
	require.ErrorContains(t, c.Write(t.Context(), io.Discard), "lib: became shorter while it was read: run this again")
}

func TestEntriesStayBelowRootAndApart(t *testing.T) {
	c := &Contents{}
	for _, step := range [][2]string{
		{"/usr/bin/x", "root/usr/bin/x"}, {"../../etc/x", "root/etc/x"}, {"/etc/x", "root2/etc/x"}, {"/etc/x/y", "root3/etc/x/y"}, {`a\..\b`, "root/a_.._b"},
	} {
		entry := c.entryFor(step[0])
		require.Equal(t, step[1], entry)
		c.parts = append(c.parts, part{entry: entry})
	}
}

// entry is one of a hostile archive.
type entry struct {
	name, content string
	kind          byte
	link          string
}

// archiveOf is an archive with any entries.
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

// indexOf is an index of snapshots with these entries.
func indexOf(names ...string) Index {
	ix := Index{Schema: Schema}
	for _, n := range names {
		ix.Snapshots = append(ix.Snapshots, Snapshot{Entry: n, Path: "/p/" + filepath.Base(n), Modified: time.Unix(1, 0).UTC()})
	}
	return ix
}

func TestHostileArchivesAreRefused(t *testing.T) {
	const name = "snapshots/1/p.0001.heap"
	for rule, c := range map[string]struct {
		data    []byte
		message string
	}{
		"a name that leads out":        {archiveOf(t, indexOf("../p.heap"), entry{name: "../p.heap"}), `"../p.heap" is not the name of an entry`},
		"a name that leads out within": {archiveOf(t, indexOf("a/../../p.heap")), "is not the name of an entry"},
		"an absolute name":             {archiveOf(t, indexOf("/etc/p.heap"), entry{name: "/etc/p.heap"}), "is not the name of an entry"},
		"no name":                      {archiveOf(t, indexOf("")), "is not the name of an entry"},
		"a link":                       {archiveOf(t, indexOf(name), entry{name: name, kind: tar.TypeSymlink, link: "/etc/passwd"}), `entry "` + name + `" is not one of the index`},
		"a hard link":                  {archiveOf(t, indexOf(name), entry{name: name, kind: tar.TypeLink, link: indexName}), "is not one of the index"},
		"a directory":                  {archiveOf(t, indexOf("d"), entry{name: "d/", kind: tar.TypeDir}), "is not one of the index"},
		"an entry that nobody named":   {archiveOf(t, indexOf(name), entry{name: "root/x", content: "x"}), `entry "root/x" is not one of the index`},
		"an entry twice":               {archiveOf(t, indexOf(name), entry{name: name}, entry{name: name}), "is not one of the index"},
		"a file that is a directory":   {archiveOf(t, indexOf("a", "a/b"), entry{name: "a"}, entry{name: "a/b"}), `entry "a/b"`},
		"an entry is missing":          {archiveOf(t, indexOf(name, name+"2"), entry{name: name}), `1 entries of the index are missing, such as "` + name + `2"`},
		"no snapshots":                 {archiveOf(t, indexOf()), "it holds no snapshots"},
		"another version":              {archiveOf(t, Index{Schema: "heaplapse.bundle/2"}), `schema "heaplapse.bundle/2", want "heaplapse.bundle/1": written by another version of heaplapse`},
		"an index that is none":        {archiveOf(t, "text"), "cannot unmarshal"},
		"not zstd":                     {[]byte("hello"), "not a usable bundle"},
		"nothing":                      {nil, "not a usable bundle"},
	} {
		t.Run(rule, func(t *testing.T) {
			dir := t.TempDir()
			path := saved(t, c.data)
			b, err := Open(path, dir)
			require.Nil(t, b)
			require.ErrorContains(t, err, path+": not a usable bundle: ")
			require.ErrorContains(t, err, c.message)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestBombs: what is not zero is counted, what is claimed, too.
func TestBombs(t *testing.T) {
	fill := func(limit int64, content string) error {
		b := &Bundle{dir: t.TempDir(), files: map[string]*File{}}
		u := unpacker{bundle: b, left: limit}
		return u.unpack(bytes.NewReader(archiveOf(t, indexOf("a"), entry{name: "a", content: content})))
	}
	require.NoError(t, fill(1<<20, strings.Repeat("x", 1<<20)))
	require.ErrorContains(t, fill(1<<20-1, strings.Repeat("x", 1<<20)), `entry "a": it unpacks to far more than its size lets expect`)
	require.NoError(t, fill(0, strings.Repeat("\x00", 1<<22)), "holes take up nothing")

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
	_, err = Open(saved(t, b.Bytes()), t.TempDir())
	require.ErrorContains(t, err, `entry "a": it unpacks to more than`)
}

// TestEveryCutIsNoticed: a bundle that ends early is refused wherever it ends.
func TestEveryCutIsNoticed(t *testing.T) {
	data := archiveOf(t, indexOf("a"), entry{name: "a", content: strings.Repeat("heap", 1000)})
	dir := t.TempDir()
	for n := range data {
		path := filepath.Join(dir, "cut")
		require.NoError(t, os.WriteFile(path, data[:n], 0o600))
		_, err := Open(path, dir)
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

// FuzzOpen: whatever the bytes, nothing is written outside the directory, an error leaves nothing within, and what is accepted has
// the entries of its index and no others.
func FuzzOpen(f *testing.F) {
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
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		require.NoError(t, os.Mkdir(dir, 0o700))
		b, err := Open(saved(t, archive.Bytes()), dir)
		if err == nil {
			requireEntries(t, b)
			require.NoError(t, b.Close())
		}
		for _, d := range []string{outer, dir} {
			left, err := os.ReadDir(d)
			require.NoError(t, err)
			require.Len(t, left, map[string]int{outer: 1}[d])
		}
	})
}

// requireEntries compares the unpacked files with the index.
func requireEntries(t *testing.T, b *Bundle) {
	t.Helper()
	want := b.Index.entries()
	require.NoError(t, filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(b.dir, path)
		require.NoError(t, err)
		require.Contains(t, want, filepath.ToSlash(name))
		require.True(t, d.Type().IsRegular())
		delete(want, filepath.ToSlash(name))
		return nil
	}))
	require.Empty(t, want)
}
