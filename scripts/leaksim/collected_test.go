package leaksim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// TestLaggingProfiles: a Go profile without a garbage collection before it shows the state of an earlier
// cycle, allocations included, and the profiles of one cycle are equal.
func TestLaggingProfiles(t *testing.T) {
	testutil.NoRace(t)
	later, repeated := 0, 0
	for seed := range uint64(12) {
		p := smallIn(modeNamed(t, "go-lagging"), seed, 24)
		dir, shots := written(t, p)
		var before *heapfile.Snapshot
		for i, s := range shots {
			shown := s.image.marks[s.mark]
			require.LessOrEqual(t, shown, s.step)
			if cycles := cyclesIn(s.image, shown, s.step); shown > 0 {
				require.Equal(t, 1, cycles, "the last but one")
				later++
			}
			snap := read(t, dir, p, s)
			if i > 0 && s.mark == shots[i-1].mark {
				require.Equal(t, before.Completeness.Estimate, snap.Completeness.Estimate)
				repeated++
			}
			before = snap
		}
	}
	require.Greater(t, later, 100)
	require.Positive(t, repeated)
}

// cyclesIn counts the cycles after one step and up to another.
func cyclesIn(im *image, after, to int) (n int) {
	for _, c := range im.cycles {
		if c > after && c <= to {
			n++
		}
	}
	return n
}

// TestSawtooth: a profile of V8 has garbage, but not more than the heap may grow by, and no cumulative
// counts.
func TestSawtooth(t *testing.T) {
	testutil.NoRace(t)
	garbage := 0
	for seed := range uint64(6) {
		p := smallIn(modeNamed(t, "v8"), seed, 12)
		dir, shots := written(t, p)
		for _, s := range shots {
			snap := read(t, dir, p, s)
			require.False(t, snap.HasAlloc)
			var live, held float64
			for u := range s.image.history {
				live += estimate(s.image.classes[u][s.mark]).bytes
				held += estimate(p.classes(u, s)).bytes
			}
			require.InDelta(t, held, float64(snap.Completeness.Estimate.InuseBytes), 1e-3*held)
			require.GreaterOrEqual(t, held, live)
			require.Less(t, held, 4*live+64*samplePeriod)
			if held > 1.02*live {
				garbage++
			}
		}
	}
	require.Greater(t, garbage, 10)
}
