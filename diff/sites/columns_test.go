package sites

import (
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
