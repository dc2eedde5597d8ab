package growth

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func chanceOf(all ...Evidence) float64 { return PoolOf(all).Confidence }

// TestPool: what processes of one program show together.
func TestPool(t *testing.T) {
	sure, unsure, full := Evidence{0.8, 100, 1 << 20}, Evidence{0.5, 100, 1 << 20}, Evidence{0.02, 400, 2 << 20}
	require.InDelta(t, sure.Confidence, chanceOf(sure), 1e-9, "one process")
	require.Greater(t, chanceOf(sure, sure), sure.Confidence, "a leak in each is surer than in one")
	require.Greater(t, chanceOf(sure, sure, sure, sure), chanceOf(sure, sure))
	require.Less(t, chanceOf(sure, sure, sure, full), 0.25, "what is full in the longest process fills up in the others")
	require.Greater(t, chanceOf(sure, Evidence{0.02, 10, 1 << 20}), 0.7, "a short process shows little")
	require.Less(t, chanceOf(unsure, Evidence{0, 100, 0}), 0.25, "a probability of 0 is no infinite evidence")
	require.Less(t, chanceOf(Evidence{1, 100, 0}, Evidence{0, 100, 0}), 0.8)
}

// TestPoolIsOrderless: the order of the processes does not matter, and their growth is added.
func TestPoolIsOrderless(t *testing.T) {
	all := []Evidence{{0.9, 10, 1}, {0.1, 20, 2}, {0.6, 15, 4}}
	p := PoolOf(all)
	slices.Reverse(all)
	q := PoolOf(all)
	require.InDelta(t, p.Confidence, q.Confidence, 1e-9)
	require.EqualValues(t, 7, p.Gained)
	require.Equal(t, 3, p.Processes)
}
