package heapfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/internal/heaptest"
)

var jemallocTraps = []trap{
	{
		rule: "jemalloc's addresses precede their counts",
		text: heaptest.Lines("heap_v2/524288", "  t*: 3: 300 [0: 0]", "  t0: 3: 300 [0: 0]",
			"@ 0x1 0x2", "  t*: 2: 200 [0: 0]", "  t0: 2: 200 [0: 0]",
			"@ 0x3", "  t*: 1: 100 [0: 0]", "  t0: 1: 100 [0: 0]") + maps,
		rows: []string{"2: 200 [0: 0] @ 0x1 0x2", "1: 100 [0: 0] @ 0x3"},
	},
	{
		rule: "t* is the sum of the threads, so threads are not added",
		text: heaptest.Lines("heap_v2/524288", "  t*: 3: 300 [0: 0]",
			"@ 0x1", "  t*: 3: 300 [0: 0]", "  t0: 2: 200 [0: 0]", "  t7: 1: 100 [0: 0] name with spaces") + maps,
		rows: []string{"3: 300 [0: 0] @ 0x1"},
	},
	{
		rule: "jemalloc's @ without addresses",
		text: heaptest.Lines("heap_v2/524288", "  t*: 1: 100 [0: 0]", "@", "  t*: 1: 100 [0: 0]") + maps,
		rows: []string{"1: 100 [0: 0] @"}, warnings: []string{"empty-stack"},
	},
	{
		rule: "a jemalloc snapshot ends within a stack, which has no counts yet",
		text: heaptest.Lines("heap_v2/524288", "  t*: 2: 200 [0: 0]", "@ 0x1", "  t*: 1: 100 [0: 0]") + "@ 0x2 0x",
		rows: []string{"1: 100 [0: 0] @ 0x1"}, warnings: []string{"partial"},
	},
	{
		rule: "a jemalloc snapshot ends within counts, whose digits may be missing",
		text: heaptest.Lines("heap_v2/524288", "  t*: 2: 200 [0: 0]", "@ 0x1", "  t*: 1: 100 [0: 0]", "@ 0x2") + "  t*: 1: 10 [0: 0]",
		rows: []string{"1: 100 [0: 0] @ 0x1"}, warnings: []string{"partial"},
	},
	{
		rule: "a stack without counts is skipped",
		text: heaptest.Lines("heap_v2/524288", "  t*: 1: 100 [0: 0]", "@ 0x1", "@ 0x2", "  t*: 1: 100 [0: 0]") + maps,
		rows: []string{"1: 100 [0: 0] @ 0x2"}, warnings: []string{"malformed-row"},
	},
	{
		rule: "jeprof --raw wraps jemalloc's format",
		text: heaptest.Lines("--- symbol", "binary=/b", "0x1 f", "---", "--- heap", "heap_v2/524288", "  t*: 1: 100 [0: 0]", "@ 0x1", "  t*: 1: 100 [0: 0]") + maps,
		rows: []string{"1: 100 [0: 0] @ 0x1"},
	},
}

func TestJemallocHeader(t *testing.T) {
	s := read(t, heaptest.Lines("heap_v2/524288", "  t*: 3: 300 [4: 400]", "  t0: 2: 200 [3: 300]", "  t18446744073709551615: 1: 100 [1: 100] pool worker: 7")+maps)
	require.Equal(t, heapfile.FormatJemalloc, s.Format)
	require.Equal(t, int64(524288), s.Period)
	require.Equal(t, "jemalloc", s.Format.Allocator())
	require.Equal(t, heapfile.Counts{InuseObjects: 3, InuseBytes: 300, AllocObjects: 4, AllocBytes: 400}, s.Total)
	require.True(t, s.HasAlloc)
	require.Equal(t, []heapfile.Thread{
		{ID: 0, Counts: heapfile.Counts{InuseObjects: 2, InuseBytes: 200, AllocObjects: 3, AllocBytes: 300}},
		{ID: 1<<64 - 1, Name: "pool worker: 7", Counts: heapfile.Counts{InuseObjects: 1, InuseBytes: 100, AllocObjects: 1, AllocBytes: 100}},
	}, s.Threads)
}

func TestJemallocWithoutProfAccumHasNoCumulativeCounts(t *testing.T) {
	s := read(t, heaptest.Lines("heap_v2/524288", "  t*: 3: 300 [0: 0]", "@ 0x1", "  t*: 3: 300 [0: 0]")+maps)
	require.False(t, s.HasAlloc)
}

func TestJemallocThreadCountsOfStacksAreIgnored(t *testing.T) {
	s := read(t, heaptest.Lines("heap_v2/524288", "  t*: 1: 100 [0: 0]", "  t0: 1: 100 [0: 0]", "@ 0x1", "  t*: 1: 100 [0: 0]", "  t0: 1: 100 [0: 0]")+maps)
	require.Len(t, s.Threads, 1)
}

func TestUnfinishedJemallocFileHasNoBound(t *testing.T) {
	s := read(t, heaptest.Lines("heap_v2/524288", "  t*: 2: 200 [0: 0]", "@ 0x1", "  t*: 1: 100 [0: 0]"))
	require.True(t, s.Completeness.Unfinished)
	require.Equal(t, int64(1<<63-1), s.Completeness.AbsentMax.InuseBytes)
}
