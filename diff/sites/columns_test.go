package sites

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/heapfile/series"
)

// TestCollectorInUse: the rows of a stack in a snapshot are summed; where the stack is absent,
// nothing is in use.
func TestCollectorInUse(t *testing.T) {
	var c Collector
	row := func(id heapfile.StackID, bytes int64) heapfile.Sample {
		return heapfile.Sample{Stack: id, Counts: heapfile.Counts{InuseObjects: 1, InuseBytes: bytes}}
	}
	for i, rows := range [][]heapfile.Sample{{row(0, 100)}, {row(0, 70), row(0, 30), row(2, 5)}, {row(2, 6)}} {
		require.NoError(t, c.Visit(&series.Snapshot{Head: &series.Head{Index: i}, Samples: rows}))
	}
	for id, want := range [][]int64{{100, 100, 0}, {0, 0, 0}, {0, 5, 6}, {0, 0, 0}} {
		for snapshot, bytes := range want {
			require.Equal(t, bytes, c.InUse(heapfile.StackID(id), snapshot), "stack %d, snapshot %d", id, snapshot)
		}
		require.Zero(t, c.InUse(heapfile.StackID(id), 3))
	}
}

// sum adds up columns as [Columns.Sum] does those of sites.
func sum(members []Column, heads []*series.Head) Column {
	out := newColumn(len(heads))
	var alloc [][]int64
	for i := range members {
		out.include(&members[i])
		alloc = append(alloc, members[i].Alloc)
	}
	out.interpolate(alloc, heads)
	return out
}

// TestRowsAreKept: rows with all kinds of counts, and snapshots that lack a stack, are read as they
// were added.
func TestRowsAreKept(t *testing.T) {
	const n = 300
	random := rand.New(rand.NewPCG(1, 2))
	for stack := range 50 {
		want := newColumn(n)
		var r rows
		for i := range n {
			if stack > 0 && random.IntN(stack) > 20 {
				continue
			}
			for range 1 + random.IntN(2) {
				count := func() int64 { return random.Int64() >> random.IntN(63) * int64(1-2*random.IntN(2)) }
				e := heapfile.Counts{InuseBytes: count(), InuseObjects: count(), AllocBytes: count()}
				r.add(i, e)
				want.add(i, e.InuseBytes, e.InuseObjects, e.AllocBytes)
			}
		}
		got := newColumn(n)
		r.addTo(&got)
		require.Equal(t, want, got)
		for i, bytes := range want.Bytes {
			if bytes == Hidden {
				bytes = 0
			}
			require.Equal(t, bytes, r.inUse(i))
		}
	}
}

// TestRowsAreSmall: counts that change a little take a few bytes.
func TestRowsAreSmall(t *testing.T) {
	const n, size = 1000, 256
	var r rows
	for i := range int64(n) {
		live := 5000 + i%3
		r.add(int(i), heapfile.Counts{InuseObjects: live, InuseBytes: live * size, AllocBytes: (live + 5*i) * size})
	}
	require.Less(t, len(r.data), 6*n)
	require.Empty(t, r.runs)
}

// TestSumInterpolatesCumulativeBytes: one hidden call path does not hide the cumulative bytes of its
// function. They are between those of the neighbours, within each process image.
func TestSumInterpolatesCumulativeBytes(t *testing.T) {
	heads := make([]*series.Head, 8)
	for i := range heads {
		heads[i] = &series.Head{Index: i, Image: i / 5}
	}
	shown := []int64{1, 1, 1, 1, 1, 1, 1, 1}
	large := Column{Bytes: shown, Objects: shown, Alloc: []int64{10, 20, 30, 40, 50, 5, 6, 7}}
	small := Column{
		Bytes: []int64{Hidden, 1, Hidden, Hidden, 4, Hidden, 1, Hidden}, Objects: []int64{Hidden, 1, Hidden, Hidden, 1, Hidden, 1, Hidden},
		Alloc: []int64{Hidden, 100, Hidden, Hidden, 400, Hidden, 50, Hidden},
	}
	added := sum([]Column{large, small}, heads)
	require.Equal(t, []int64{10, 120, 230, 340, 450, 5, 56, 57}, added.Alloc)
	require.Equal(t, []int64{1, 2, 1, 1, 5, 1, 2, 1}, added.Bytes)
	both := sum([]Column{small, small}, heads)
	require.Equal(t, int64(Hidden), both.Alloc[0], "where all members are hidden, the sum is")
}

// TestCumulativeBytesOfSitesWithNothingInUse: a truncated snapshot that lists all sites with memory in use shows that
// a site has none, but not what it had allocated. That is estimated, by what it had freed before and afterwards.
func TestCumulativeBytesOfSitesWithNothingInUse(t *testing.T) {
	heads := make([]*series.Head, 8)
	for i := range heads {
		heads[i] = &series.Head{Index: i, Image: i / 7}
		heads[i].Completeness.AbsentMax = heapfile.Counts{AllocObjects: 5, AllocBytes: 5000}
	}
	column := func(bytes, alloc []int64) Column {
		c := Column{Bytes: bytes, Objects: make([]int64, len(bytes)), Alloc: alloc}
		c.fill(heads)
		return c
	}
	const h = Hidden
	kept := column([]int64{h, h, h, 100, 200, 300, 400, h}, []int64{h, h, h, 100, 200, 300, 400, h})
	require.Equal(t, []int64{0, 0, 0, 100, 200, 300, 400, 0}, kept.Alloc, "it freed nothing, and so had allocated nothing")
	require.Equal(t, kept.Alloc, kept.Bytes)

	freed := column([]int64{h, 50, h, h, 50, h, h, h}, []int64{h, 150, h, h, 450, h, h, h})
	require.Equal(t, []int64{0, 50, 0, 0, 50, 0, 0, 0}, freed.Bytes)
	require.Equal(t, []int64{100, 150, 200, 300, 450, 450, 450, 0}, freed.Alloc)

	added := sum([]Column{kept, freed}, heads)
	require.Equal(t, []int64{100, 150, 200, 400, 650, 750, 850, 0}, added.Alloc)

	heads[0].Completeness.AbsentMax.AllocBytes = 30
	freed = column([]int64{h, 50, h, h, 50, h, h, h}, []int64{h, 150, h, h, 450, h, h, h})
	require.Equal(t, int64(30), freed.Alloc[0], "all sites that the snapshot does not list had allocated no more")
}
