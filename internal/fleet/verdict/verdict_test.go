package verdict_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/fleet/verdict"
)

// hosts returns n hosts with a confidence, which gained 2 MiB each.
func hosts(n int, confidence float64) []verdict.Host {
	return slices.Repeat([]verdict.Host{{Confidence: confidence, Gained: 2 << 20}}, n)
}

// TestOneHostDoesNotDecide: a certain leak on one of ten hosts is not one of the cell.
func TestOneHostDoesNotDecide(t *testing.T) {
	require.False(t, verdict.Chosen.Leaks(append(hosts(1, 1), hosts(9, 0)...)))
	require.True(t, verdict.Chosen.Leaks(hosts(10, 0.5)), "doubts of ten hosts add up")
	require.False(t, verdict.Chosen.Leaks(nil))
}

// TestSmallGrowthIsNoLeak: nor does the growth of one host count for all.
func TestSmallGrowthIsNoLeak(t *testing.T) {
	list := hosts(10, 1)
	for i := range list {
		list[i].Gained = 1<<20 - 1
	}
	require.False(t, verdict.Chosen.Leaks(list))
	list[0].Gained += 10
	require.True(t, verdict.Chosen.Leaks(list))
}

// TestHostsWithoutTheSiteCount: the site does not leak there.
func TestHostsWithoutTheSiteCount(t *testing.T) {
	few := hosts(3, 0.9)
	require.True(t, verdict.Chosen.Leaks(few))
	require.False(t, verdict.Chosen.Leaks(append(few, make([]verdict.Host, 27)...)))
}

// TestLaws: the order of the hosts does not matter, and more confidence or more growth is no less of a leak.
func TestLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	leaks := 0
	for range 2000 {
		list := make([]verdict.Host, 1+rng.IntN(12))
		for i := range list {
			list[i] = verdict.Host{Confidence: rng.Float64() * rng.Float64(), Gained: rng.Int64N(4 << 20)}
		}
		leak := verdict.Chosen.Leaks(list)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, leak, verdict.Chosen.Leaks(list))
		k := rng.IntN(len(list))
		list[k] = verdict.Host{Confidence: min(1, list[k].Confidence+0.3), Gained: list[k].Gained + 1<<20}
		require.False(t, leak && !verdict.Chosen.Leaks(list))
		if leak {
			leaks++
			require.False(t, verdict.Chosen.OnlyWith(list, list), "it leaks on the reference hosts too")
			require.False(t, verdict.Chosen.OnlyWith(list, nil), "there is nothing to compare with")
		}
	}
	require.Greater(t, leaks, 100)
}

// TestOnlyWith: a leak must be rare on the reference hosts, and a few hosts decide nothing.
func TestOnlyWith(t *testing.T) {
	require.True(t, verdict.Chosen.OnlyWith(hosts(7, 0.8), hosts(23, 0.02)))
	require.False(t, verdict.Chosen.OnlyWith(hosts(7, 0.8), hosts(23, 0.6)))
	require.False(t, verdict.Chosen.OnlyWith(hosts(7, 0.1), hosts(23, 0)), "it does not leak")
}
