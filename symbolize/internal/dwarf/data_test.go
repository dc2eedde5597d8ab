package dwarf

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/interval"
)

// TestUnitIndexAgainstBruteForce: at every address, the unit whose range holds it and starts last.
// In the crafted case more than 300 units lie within one.
func TestUnitIndexAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(units []*unit, limit uint64) {
		x := newUnitIndex(units)
		for a := range limit {
			var want *unit
			start := uint64(0)
			for _, u := range units {
				for _, r := range u.ranges {
					if r.Lo <= a && a < r.Hi && r.Lo >= start {
						want, start = u, r.Lo
					}
				}
			}
			require.Equal(t, want, x.find(a), "address %d", a)
		}
	}
	for range 300 {
		var units []*unit
		for n := random.IntN(20); n > 0; n-- {
			lo := random.Uint64N(120)
			units = append(units, &unit{off: uint64(n), ranges: ranges(lo, lo+1+random.Uint64N(60), lo+90, lo+92)})
		}
		check(units, 300)
	}
	within := []*unit{{ranges: ranges(0, 1000)}}
	for n := range uint64(400) {
		within = append(within, &unit{off: n, ranges: ranges(2*n, 2*n+1)})
	}
	check(within, 1100)
}

// ranges returns the ranges between pairs of addresses.
func ranges(ends ...uint64) (out []interval.Range) {
	for ; len(ends) > 0; ends = ends[2:] {
		out = append(out, interval.Range{Lo: ends[0], Hi: ends[1]})
	}
	return out
}
