package heapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

// TestEqualStacks: exact counts of one stack are added, so that rows of few stacks take little
// memory. Estimates are made row by row, and are not.
func TestEqualStacks(t *testing.T) {
	rows := strings.Repeat("1: 100 [2: 200] @ 0x1 0x2\n3: 400 [4: 900] @ 0x3\n", 1000)
	exact := merged(t, "heap profile: 4000: 500000 [6000: 1100000] @ heapprofile\n"+rows)
	require.Equal(t, []heapfile.Counts{{1000, 100000, 2000, 200000}, {3000, 400000, 4000, 900000}}, []heapfile.Counts{exact.Samples[0].Counts, exact.Samples[1].Counts})
	require.Len(t, exact.Samples, 2)
	require.Equal(t, 2000, exact.Rows)
	require.Equal(t, heapfile.Counts{InuseObjects: 4000, InuseBytes: 500000, AllocObjects: 6000, AllocBytes: 1100000}, exact.Completeness.Rows)

	sampled := merged(t, "heap profile: 4000: 500000 [4000: 500000] @ heap_v2/524288\n"+rows)
	require.Len(t, sampled.Samples, 2000)
	require.Equal(t, 2000, sampled.Rows)
}

// TestRowsThatCannotBeAdded: a negative count may be a wrapped one, and a sum may overflow.
func TestRowsThatCannotBeAdded(t *testing.T) {
	const most = 1<<63 - 1
	s := merged(t, fmt.Sprintf("heap profile: 1: 1 [1: 1] @ heapprofile\n-1: 5000000000 [1: 1] @ 0x1\n1: 1 [1: 1] @ 0x1\n1: %d [1: 1] @ 0x1\n2: 7 [1: 1] @ 0x1\n", most))
	var bytes []int64
	for _, row := range s.Samples {
		bytes = append(bytes, row.InuseBytes)
	}
	require.Equal(t, []int64{5000000000, 1, most}, bytes[:3])
	require.Equal(t, 4, s.Rows)
}

// merged reads a text with Merge, after another one that has other rows of the same stacks.
func merged(t *testing.T, text string) *heapfile.Snapshot {
	t.Helper()
	d := heapfile.Decoder{Merge: true}
	files := fstest.MapFS{"a": {Data: []byte("heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x3\n1: 1 [1: 1] @ 0x1 0x2\n1: 1 [1: 1] @ 0x1\n")}, "b": {Data: []byte(text)}}
	_, err := d.ReadFile(files, "a", textName)
	require.NoError(t, err)
	s, err := d.ReadFile(files, "b", textName)
	require.NoError(t, err)
	return s
}

// repeated is a text followed by n repetitions of another one.
func repeated(head, text string, n int64) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(heaptest.Endless(text), n*int64(len(text))))
}

// TestExpansion: a small file that expands to a large one is refused, at a line.
func TestExpansion(t *testing.T) {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	line := strings.Repeat(" ", 1000) + "\n"
	_, err = io.Copy(z, repeated("heap profile: 1: 1 [1: 1] @ heapprofile\n", line, 300<<10))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.Less(t, packed.Len(), 100<<10)
	_, err = heapfile.Read(bytes.NewReader(packed.Bytes()), "x.heap.zst")
	require.ErrorContains(t, err, "read failed: it expands to more than 1000 times its size, as no snapshot does")
	require.Regexp(t, `^x\.heap\.zst:2\d{5}: `, err.Error())
}

// TestCheck: the check is called all along a file, and its error is that of the file.
func TestCheck(t *testing.T) {
	enough := errors.New("that is enough")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.Copy(z, repeated("heap profile: 1: 1 [1: 1] @ heapprofile\n", "1: 1 [1: 1] @ 0x1\n", 600_000))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	calls := 0
	d := heapfile.Decoder{Check: func(int64) error {
		if calls++; calls > 7 {
			return enough
		}
		return nil
	}}
	s, err := d.ReadFile(fstest.MapFS{"x": {Data: packed.Bytes()}}, "x", "x.heap.gz")
	require.Nil(t, s)
	require.ErrorIs(t, err, enough)
	require.Regexp(t, `^x\.heap\.gz:\d{5,6}: read failed: that is enough$`, err.Error())
	require.Equal(t, 8, calls)
}
