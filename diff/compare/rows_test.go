package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
)

// TestChurned: a function that has nothing in use, before and after, is neither new nor gone.
func TestChurned(t *testing.T) {
	allocated := heapfile.Counts{AllocObjects: 3, AllocBytes: 384 << 10}
	require.Equal(t, ChangeChurned, (&Row{Current: allocated}).change())
	require.Equal(t, ChangeChurned, (&Row{Base: allocated}).change())
	require.Equal(t, ChangeNew, (&Row{Current: heapfile.Counts{InuseObjects: 1, InuseBytes: 8}}).change())
}
