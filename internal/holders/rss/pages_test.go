package rss

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// randomRanges returns ranges of numbers up to 100, and which numbers are in them.
func randomRanges(random *rand.Rand) (list ranges, has [100]bool) {
	for at := uint64(random.IntN(20)); at < 100; {
		end := min(at+1+uint64(random.IntN(15)), 100)
		list = list.add(blocks.Range{Start: at, End: end})
		for i := at; i < end; i++ {
			has[i] = true
		}
		at = end + uint64(random.IntN(15))
	}
	return list, has
}

func TestRangesAgreeWithNumbers(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		a, inA := randomRanges(random)
		b, inB := randomRanges(random)
		both := a.and(b)
		for i := range uint64(100) {
			require.Equal(t, inA[i] && inB[i], both.size(blocks.Range{Start: i, End: i + 1}) == 1, "%v %v %d", a, b, i)
		}
		require.True(t, slices.IsSortedFunc(both, func(x, y blocks.Range) int { return int(x.End) - int(y.Start) - 1 }))
		within := blocks.Range{Start: uint64(random.IntN(100)), End: uint64(random.IntN(110))}
		want := uint64(0)
		for i := within.Start; i < min(within.End, 100); i++ {
			if inA[i] {
				want++
			}
		}
		if within.Start < within.End {
			require.Equal(t, want, a.size(within), "%v %v", a, within)
		}
	}
	assert.Empty(t, ranges{}.and(ranges{{Start: 1, End: 2}}))
}

// TestClaimsAgreeWithNumbers compares claims with an array: the first claim of a number counts.
func TestClaimsAgreeWithNumbers(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		var list claims
		var want [100]Kind
		for range random.IntN(12) {
			start := uint64(random.IntN(100))
			r := blocks.Range{Start: start, End: min(start+uint64(random.IntN(30)), 100)}
			kind := Kinds[random.IntN(3)]
			list.add(r, kind)
			for i := r.Start; i < r.End; i++ {
				if want[i] == "" {
					want[i] = kind
				}
			}
		}
		start := uint64(random.IntN(100))
		within := blocks.Range{Start: start, End: start + uint64(random.IntN(int(101-start)))}
		at := within.Start
		list.divide(within, func(part blocks.Range, kind Kind) {
			require.True(t, part.Start == at && part.Start < part.End)
			for ; at < part.End; at++ {
				require.Equal(t, want[at], kind, "%v at %d", list, at)
			}
		})
		require.Equal(t, within.End, at)
	}
}
