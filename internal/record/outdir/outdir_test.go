package outdir_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/record/outdir"
)

// TestThinningIsEven adds snapshots at a constant rate. The first and the last are always kept, and
// no gap is much larger than the others.
func TestThinningIsEven(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, keep := range []int{3, 4, 7, 50} {
		var kept []time.Time
		for i := range 1000 {
			kept = append(kept, start.Add(time.Duration(i)*time.Second))
			if len(kept) > keep {
				at := outdir.MostRedundant(kept)
				kept = append(kept[:at], kept[at+1:]...)
			}
			require.Equal(t, start, kept[0])
			require.Equal(t, start.Add(time.Duration(i)*time.Second), kept[len(kept)-1])
		}
		require.Len(t, kept, keep)
		for i := 1; i < len(kept); i++ {
			even := 999 * time.Second / time.Duration(keep-1)
			require.LessOrEqual(t, kept[i].Sub(kept[i-1]), 2*even+time.Second, "keep %d, gap %d", keep, i)
		}
	}
}

// TestThinningKeepsBothEnds uses random gaps.
func TestThinningKeepsBothEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Unix(0, 0)
	var kept []time.Time
	for range 500 {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(time.Second)))
		if kept = append(kept, at); len(kept) > 20 {
			i := outdir.MostRedundant(kept)
			require.Positive(t, i)
			require.Less(t, i, len(kept)-1)
			kept = append(kept[:i], kept[i+1:]...)
		}
	}
	require.Equal(t, at, kept[19])
}
