package bundle

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
	"github.com/heaplapse/heaplapse/symbolize"
)

// TestCompressedSnapshots: what gzip compressed takes little space in a bundle, although gzip hides what the snapshots
// have in common, and its header stays.
func TestCompressedSnapshots(t *testing.T) {
	const snapshots = 20
	when := time.Unix(1700000000, 0)
	dir, total := t.TempDir(), int64(0)
	for i := range snapshots {
		var text strings.Builder
		fmt.Fprintf(&text, "heap profile: %d: %d [%d: %d] @ heapprofile\n", 3000+i, 9000+i, 3000+i, 9000+i)
		for k := range 3000 {
			fmt.Fprintf(&text, "%d: %d [%d: %d] @ 0x%x 0x%x\n",
				1+i/19, 3+i/19, 1+i/19, 3+i/19, 0x400000+7919*k%65521, 0x410000+k*k%65519)
		}
		text.WriteString("\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1    /nonexistent/program\n")
		total += zipped(t, filepath.Join(dir, fmt.Sprintf("p.%04d.heap.gz", i+1)), text.String(), when)
	}
	contents, _ := contentsOf(t, dir, symbolize.Options{})
	archive := packed(t, contents)
	require.Less(t, int64(len(archive)), total/10)

	z, err := zstd.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	defer z.Close()
	r, found := tar.NewReader(z), 0
	for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
		require.NoError(t, err)
		if !strings.HasPrefix(h.Name, "snapshots/1/p.") {
			continue
		}
		g, err := gzip.NewReader(r)
		require.NoError(t, err)
		require.True(t, when.Equal(g.ModTime))
		text, err := io.ReadAll(g)
		require.NoError(t, err)
		require.Equal(t, testutil.Plain(t, filepath.Join(dir, filepath.Base(h.Name))), text)
		found++
	}
	require.Equal(t, snapshots, found)
}

// TestDamagedSnapshots: a snapshot that gzip cannot read is in the bundle as it is, and so is a large one.
func TestDamagedSnapshots(t *testing.T) {
	left := int64(100 << 10)
	looseSize := func(path string) int64 { return looseSizeAt(t, path, &left) }
	path := filepath.Join(t.TempDir(), "p.heap.gz")
	size := zipped(t, path, strings.Repeat("heap", 9999), time.Time{})
	require.Greater(t, looseSize(path), int64(4*9999))
	require.EqualValues(t, 100<<10-4*9999, left)
	require.NoError(t, os.Truncate(path, size-5))
	require.Zero(t, looseSize(path))
	require.NoError(t, os.WriteFile(path, []byte("heap profile: 1: 2"), 0o600))
	require.Zero(t, looseSize(path))
	zipped(t, path, strings.Repeat("heap", 99999), time.Time{})
	require.Zero(t, looseSize(path))
	require.Zero(t, left)
	require.Zero(t, looseSize(path))
}

// TestReplacedCompressedSnapshot: the archive has the size of a snapshot before it has the content.
func TestReplacedCompressedSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.0001.heap.gz")
	zipped(t, path, "heap profile: 1: 2", time.Time{})
	info, err := os.Stat(path)
	require.NoError(t, err)
	left := int64(1 << 20)
	for _, other := range []string{"heap profile: 1: 2 [1: 2]", "heap"} {
		p := part{entry: "snapshots/1/p.0001.heap.gz", path: path, info: info, loose: looseSizeAt(t, path, &left)}
		zipped(t, path, other, time.Time{})
		err := (&Contents{parts: []part{p}}).Write(t.Context(), io.Discard)
		require.ErrorContains(t, err, "p.0001.heap.gz: changed while it was read: run this again")
	}
}

func looseSizeAt(t *testing.T, path string, left *int64) int64 {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	return looseSize(f, left)
}

// zipped writes a file that gzip compresses, and returns its size.
func zipped(t *testing.T, path, text string, when time.Time) int64 {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.ModTime = when
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return int64(b.Len())
}
