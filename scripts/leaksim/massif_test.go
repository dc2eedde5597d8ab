package leaksim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/testutil"
)

// massifUnit is the unit of the times of a massif file, or "".
func (p *Process) massifUnit() string {
	if p.Mode.format != massif {
		return ""
	}
	return p.massifOptions().unit
}

// TestMassif: a reader finds all bytes, and what a snapshot omits is below the threshold.
func TestMassif(t *testing.T) {
	testutil.NoRace(t)
	units, omitted := map[string]bool{}, 0
	for seed := range uint64(12) {
		p := smallIn(tracedModes()[seed%2], seed, 8)
		units[p.massifUnit()] = true
		dir, shots := written(t, p)
		s, err := series.Open([]string{dir}, series.Options{})
		require.NoError(t, err)
		require.Len(t, s.Heads, len(shots))
		for i, head := range s.Heads {
			total := shots[i].image.total()[shots[i].step].Bytes
			require.Equal(t, total, head.Total.InuseBytes)
			least := p.massifOptions().threshold / 100 * float64(total)
			for unit := range p.lost[shots[i].seq] {
				require.LessOrEqual(t, float64(shots[i].image.history[unit][shots[i].step].Bytes), least)
				omitted++
			}
			if p.massifUnit() == "ms" && i > 0 {
				require.InDelta(t, shots[i].time.Sub(shots[0].time), s.Clock.Times[i].Sub(s.Clock.Times[0]), float64(2*time.Millisecond))
			}
		}
		require.NoError(t, s.Close())
	}
	require.Len(t, units, 3)
	require.Greater(t, omitted, 100)
}

// TestMassifByInstructions: snapshots that are taken every so many instructions are even over the work
// of a starved process.
func TestMassifByInstructions(t *testing.T) {
	p := eventful(t, "massif", func(l life) bool { return l.kind == "starved" && spread(steps(l.wall)) > 0.5 })
	p.Mode.missing = 0
	for p.massifUnit() != "i" {
		p.seed++ // draws the options again
	}
	var work, wall []float64
	for _, s := range p.shots() {
		work, wall = append(work, float64(s.cpu)), append(wall, float64(s.time.UnixNano()))
	}
	require.Less(t, spread(steps(work)), 0.1)
	require.Greater(t, spread(steps(wall)), 0.2)
}
