package growth

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func chanceOf(all ...Evidence) float64 { return PoolOf(all, 2<<20).Confidence }

// TestPool: what processes of one program show together.
func TestPool(t *testing.T) {
	sure, unsure := Evidence{0.8, 100, 1 << 20, 2 << 20}, Evidence{0.5, 100, 1 << 20, 2 << 20}
	full := Evidence{0.02, 400, 2 << 20, 2 << 20}
	require.InDelta(t, sure.Confidence, chanceOf(sure), 1e-9, "one process")
	require.Greater(t, chanceOf(sure, sure), sure.Confidence, "a leak in each is surer than in one")
	require.Greater(t, chanceOf(sure, sure, sure, sure), chanceOf(sure, sure))
	require.Less(t, chanceOf(sure, sure, sure, full), 0.25, "what is full in the longest process fills up in the others")
	require.Greater(t, chanceOf(sure, Evidence{0.02, 10, 1 << 20, 2 << 20}), 0.7, "a short process shows little")
	require.Less(t, chanceOf(unsure, Evidence{0, 100, 0, 2 << 20}), 0.25, "a probability of 0 is no infinite evidence")
	require.Less(t, chanceOf(Evidence{1, 100, 0, 2 << 20}, Evidence{0, 100, 0, 2 << 20}), 0.8)
}

// TestPoolIsOrderless: the order of the processes does not matter, and their growth is added.
func TestPoolIsOrderless(t *testing.T) {
	all := []Evidence{{0.9, 10, 1, 5}, {0.1, 20, 2, 6}, {0.6, 15, 4, 7}}
	p := PoolOf(all, 7)
	slices.Reverse(all)
	q := PoolOf(all, 7)
	require.InDelta(t, p.Confidence, q.Confidence, 1e-9)
	require.EqualValues(t, 7, p.Gained)
	require.Equal(t, 3, p.Processes)
}

// TestPoolOfOneThatLeaks: workers that are full at less, or hardly used the site, are no evidence against a leak in one
// that holds more. What is full at as much is.
func TestPoolOfOneThatLeaks(t *testing.T) {
	leaks := Evidence{0.95, 100, 60 << 20, 60 << 20}
	held := func(bytes int64) Evidence { return Evidence{0.02, 100, bytes, bytes} }
	chance := func(all ...Evidence) float64 { return PoolOf(all, leaks.Held).Confidence }
	require.Greater(t, chance(leaks, held(20<<20), held(20<<20), held(20<<20)), 0.9, "full at less")
	require.InDelta(t, leaks.Confidence, chance(leaks, held(1<<20), held(1<<20), held(0)), 0.01, "hardly used")
	require.Less(t, chance(leaks, held(60<<20), held(60<<20)), 0.6, "full at as much")
	require.Less(t, chance(leaks, held(90<<20), held(90<<20)), 0.6, "full at more")

	filling, full := Evidence{0.9, 100, 10 << 20, 10 << 20}, held(20<<20)
	all := []Evidence{filling, filling, filling, full, full}
	require.Greater(t, PoolOf(all, filling.Held).Confidence, PoolOf(all, full.Held).Confidence)
	require.Less(t, PoolOf(all, full.Held).Confidence, 0.25, "the processes that fill hold less")
	require.InDelta(t, PoolOf(all, 13<<20).Confidence, PoolOf(all, filling.Held).Confidence, 1e-9, "nearly as much")
	begun := Evidence{0.9, 100, 0, 1 << 20}
	require.Less(t, chanceOf(begun, Evidence{0.02, 100, 0, 2 << 20}), 0.25, "the beginning of what is full")
}
