package heapfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

// truncated returns a snapshot that ends within its last row.
func truncated(header string, rows ...string) string {
	return heaptest.Lines(append([]string{header}, rows...)...) + maps[1:]
}

func TestCompleteFileHidesNothing(t *testing.T) {
	c := read(t, heaptest.Exact("3: 6 [4: 8]", "2: 4 [3: 6] @ 0x1", "1: 2 [1: 2] @ 0x2")).Completeness
	require.False(t, c.Truncated)
	require.False(t, c.Unfinished)
	require.Zero(t, c.AbsentMax)
	require.Equal(t, heapfile.Counts{InuseObjects: 3, InuseBytes: 6, AllocObjects: 4, AllocBytes: 8}, c.Rows)
}

func TestBoundOfATruncatedFile(t *testing.T) {
	for _, c := range []struct {
		rule   string
		totals string
		want   heapfile.Counts
	}{
		{"the missing bytes are less than the smallest row", "4: 110 [20: 900]", heapfile.Counts{InuseObjects: 1, InuseBytes: 10, AllocObjects: 17, AllocBytes: 800}},
		{"the smallest row is less than the missing bytes", "40: 1100 [50: 1200]", heapfile.Counts{InuseObjects: 37, InuseBytes: 40, AllocObjects: 47, AllocBytes: 1100}},
		{"only freed stacks were dropped: 0 bytes are in use", "3: 100 [50: 1200]", heapfile.Counts{AllocObjects: 47, AllocBytes: 1100}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := read(t, truncated("heap profile: "+c.totals+" @ heapprofile", "2: 60 [2: 60] @ 0x1", "1: 40 [1: 40] @ 0x2 0x3"))
			require.True(t, s.Completeness.Truncated)
			require.True(t, s.Completeness.Sorted)
			require.Equal(t, c.want, s.Completeness.AbsentMax)
		})
	}
}

func TestUnsortedRowsAreNoBound(t *testing.T) {
	s := read(t, truncated("heap profile: 40: 1100 [40: 1100] @ heapprofile", "1: 40 [1: 40] @ 0x1", "2: 60 [2: 60] @ 0x2 0x3"))
	require.False(t, s.Completeness.Sorted)
	require.Equal(t, int64(1000), s.Completeness.AbsentMax.InuseBytes)
}

func TestTruncatedSampledFileHasABound(t *testing.T) {
	s := read(t, truncated("heap profile: 9: 900 [9: 900] @ heap_v2/1024", "1: 100 [1: 100] @ 0x1 0x2"))
	require.True(t, s.Completeness.Truncated)
	require.NotZero(t, s.Completeness.AbsentMax.InuseBytes)
}

// gperftools ≤2.15 writes at most 1 MiB. If the last row happens to fit, only
// the size and the header show that rows are missing.
func TestFileOf1MiBIsTruncatedIfItsHeaderCountsMore(t *testing.T) {
	full := func(totals string, missing int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "heap profile: %s @ heapprofile\n", totals)
		row := "     1:        1 [     1:        1] @" + strings.Repeat(" 0x00000001", 30) + "\n"
		for b.Len()+len(row)+len(maps) < 1<<20-missing {
			b.WriteString(row)
		}
		return b.String() + maps
	}
	require.True(t, read(t, full("9999: 9999 [9999: 9999]", 0)).Completeness.Truncated)
	require.False(t, read(t, full("9999: 9999 [9999: 9999]", 2000)).Completeness.Truncated, "more rows would have fit")
	require.True(t, read(t, strings.Replace(full("9999: 9999 [9999: 9999]", 0), "\n\nMAPPED", "\nMAPPED", 1)).Completeness.Truncated)
	rows := int64(read(t, full("9999: 9999 [9999: 9999]", 0)).Rows)
	totals := fmt.Sprintf("%d: %d [%d: %d]", rows, rows, rows, rows)
	whole := full(totals, 0)
	require.False(t, read(t, whole).Completeness.Truncated, "the header counts no more than the rows")
	without := strings.Replace(whole, "\n\nMAPPED", "\nMAPPED", 1)
	require.True(t, read(t, without).Completeness.Truncated, "only the last row is truncated")
}

func TestBytesAtTheDepthLimitAreEstimates(t *testing.T) {
	deep := strings.Repeat(" 0x1", 31)
	s := read(t, heaptest.WithHeader("heap profile: 2: 2048 [2: 2048] @ heap_v2/1024", "1: 1024 [1: 1024] @"+deep, "1: 1024 [1: 1024] @ 0x1"))
	e := s.Samples[0].Estimate(1024).InuseBytes
	require.Greater(t, e, int64(1024))
	require.Equal(t, e, s.Completeness.AtDepthLimit)
}

func TestEveryFormatHasItsDepthLimit(t *testing.T) {
	require.Equal(t, 32, heapfile.FormatHeapProfile.DepthLimit())
	require.Equal(t, 31, heapfile.FormatHeapV2.DepthLimit())
	require.Equal(t, 30, heapfile.FormatGrowth.DepthLimit())
	require.Equal(t, 128, heapfile.FormatJemalloc.DepthLimit())
	require.Equal(t, 0, heapfile.FormatScaled.DepthLimit(), "it leaves out inner frames, and marks them")
	require.Equal(t, 0, heapfile.FormatPprof.DepthLimit(), "producers differ")
}

func TestHeapOfATruncatedExactSnapshotIsItsHeader(t *testing.T) {
	s := read(t, truncated("heap profile: 4: 110 [20: 900] @ heapprofile", "2: 60 [2: 60] @ 0x1", "1: 40 [1: 40] @ 0x2 0x3"))
	require.Equal(t, heapfile.Counts{InuseObjects: 4, InuseBytes: 110, AllocObjects: 20, AllocBytes: 900}, s.Heap())
}

func TestHeapOfASampledFormatIsTheSumOfEstimates(t *testing.T) {
	s := read(t, heaptest.WithHeader("heap profile: 2: 2048 [2: 2048] @ heap_v2/1024", "1: 1024 [1: 1024] @ 0x1", "1: 1024 [1: 1024] @ 0x2"))
	require.Equal(t, 2*s.Samples[0].Estimate(1024).InuseBytes, s.Heap().InuseBytes)
}

func TestSumsOfEstimatesSaturate(t *testing.T) {
	big := "1: 9223372036854775807 [1: 9223372036854775807]"
	s := read(t, heaptest.Exact(big, big+" @ 0x1", big+" @ 0x2"))
	require.Equal(t, int64(1<<63-1), s.Completeness.Estimate.InuseBytes)
}
