package graph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// TestEnds has words in a root and in a block, of which some are the end of a block: what begins there is not held by
// them.
func TestEnds(t *testing.T) {
	const size, n = 64, 8
	b := func(i uint64) uint64 { return start + i*size }
	for name, c := range map[string]struct {
		words []uint64
		ends  bool
	}{
		"a vector":                    {[]uint64{b(1), b(1) + 24, b(2)}, true},
		"a full vector":               {[]uint64{b(1), b(2), b(2)}, true},
		"an empty vector":             {[]uint64{b(1), b(1), b(2)}, true},
		"an iterator":                 {[]uint64{b(1) + 16, b(1), b(2)}, true},
		"pointers to three blocks":    {[]uint64{b(0), b(1), b(2)}, false},
		"pointers to two blocks":      {[]uint64{b(1), b(2), b(5)}, false},
		"nothing before":              {[]uint64{b(2), b(1), b(1)}, false},
		"a gap":                       {[]uint64{b(1), b(1) + 8, 0, b(2)}, false},
		"two in the middle":           {[]uint64{b(1) + 8, b(1) + 24, b(2)}, false},
		"a vector and a pointer":      {[]uint64{b(1), b(1) + 24, b(2), b(2)}, false},
		"a full vector and a pointer": {[]uint64{b(2), 0, b(1), b(2), b(2)}, false},
	} {
		for _, inRoot := range []bool{true, false} {
			for _, whole := range []bool{true, false} {
				m, set := equal(t, n, size)
				root := uint64(start + n*size)
				at := root
				if !inRoot {
					m.put(root, b(7))
					at = b(7)
				}
				for i, w := range c.words {
					m.put(at+8*uint64(i), w)
				}
				var o Options
				if whole {
					o.Whole = set
				}
				g, err := Build(Memory{Memory: m}, set, o)
				require.NoError(t, err)
				g.Mark([]Root{{Phase: 1, Range: blocks.Range{Start: root, End: root + size}}})
				want := Phase(1)
				if c.ends && whole {
					want = Doubtful
				}
				p, ok := g.Path(b(2), 10)
				require.True(t, ok)
				assert.Equal(t, want, p.Phase, "%s %t %t", name, inRoot, whole)
				p, _ = g.Path(b(1), 10)
				assert.Equal(t, Phase(1), p.Phase, name)
			}
		}
	}
}
