//go:build linux && amd64

package holders

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// TestChosen: how often a block is chosen does not depend on its place, and follows its size. The bounds are six
// standard deviations.
func TestChosen(t *testing.T) {
	const n, rounds, small, large = 1000, 2000, 16, 160
	random := rand.New(rand.NewPCG(3, 4))
	var early, late, ofLarge int
	for range rounds {
		g := &group{}
		for i := range n {
			size := uint64(small)
			if i%10 == 0 {
				size = large
			}
			g.add(blocks.Block{Range: blocks.Range{Start: uint64(i) << 10, End: uint64(i)<<10 + size}}, random)
		}
		list := g.addresses()
		assert.Len(t, list, looked)
		for _, address := range list {
			switch i := address >> 10; {
			case i%10 == 0:
				ofLarge++
			case i < n/2:
				early++
			default:
				late++
			}
		}
		assert.EqualValues(t, n, g.Blocks)
		assert.EqualValues(t, n/10*large+n*9/10*small, g.Bytes)
	}
	all := float64(early + late)
	assert.InDelta(t, all/2, early, 6*math.Sqrt(all/4))
	// A block is chosen once, so the share of large ones is below that of their bytes.
	want := expectedLarge(random, rounds, n, small, large)
	assert.InDelta(t, want, ofLarge, 6*math.Sqrt(2*want))
}

// expectedLarge draws blocks one after the other, each with a probability that is proportional to its size among those
// that are left, and returns how many large ones were drawn.
func expectedLarge(random *rand.Rand, rounds, n int, small, large float64) (drawn float64) {
	for range rounds {
		larges, smalls := n/10, n*9/10
		for range looked {
			of := float64(larges) * large
			if random.Float64()*(of+float64(smalls)*small) < of {
				larges, drawn = larges-1, drawn+1
			} else {
				smalls--
			}
		}
	}
	return drawn
}
