package graph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// TestVectors has words in a root and in a block, of which some are those of a std::vector: its buffer has pointers to
// two blocks, of which the second one may lie behind the elements.
func TestVectors(t *testing.T) {
	const size = 64
	b := func(i uint64) uint64 { return start + i*size }
	buffer, one, two, owner, other := b(1), b(2), b(3), b(4), b(5)
	for name, c := range map[string]struct {
		words    []uint64
		one, two Phase
	}{
		"a vector of one":        {[]uint64{buffer, buffer + 8, buffer + 48}, 1, Doubtful},
		"a vector of two":        {[]uint64{buffer, buffer + 16, buffer + 48}, 1, 1},
		"a full vector":          {[]uint64{buffer, buffer + 48, buffer + 48}, 1, 1},
		"empty, or a cursor":     {[]uint64{buffer, buffer, buffer + 56}, 1, 1},
		"an old copy before":     {[]uint64{buffer, buffer, buffer + 56, 0, buffer, buffer + 16, buffer + 56}, 1, 1},
		"an old copy behind":     {[]uint64{buffer, buffer + 8, buffer + 56, buffer, buffer, buffer + 56}, 1, 1},
		"a small part":           {[]uint64{buffer, buffer + 8, buffer + 14}, 1, 1},
		"more than a block":      {[]uint64{buffer, buffer + 8, buffer + size + 8}, 1, 1},
		"not the start":          {[]uint64{buffer + 8, buffer + 8, buffer + 48}, 1, 1},
		"a gap":                  {[]uint64{buffer, buffer, 0, buffer + 48}, 1, 1},
		"in another order":       {[]uint64{buffer, buffer + 48, buffer + 8}, 1, 1},
		"a deque of libstdc++":   {[]uint64{buffer, buffer, buffer + 48, other}, 1, 1},
		"a vector and a pointer": {[]uint64{buffer, buffer + 8, buffer + 48, two}, 1, 1},
		"a deque of libc++":      {[]uint64{buffer, buffer + 8, buffer + 48, buffer + 56}, 1, 1},
	} {
		for _, inRoot := range []bool{true, false} {
			m, set := equal(t, 6, size)
			m.put(buffer, one)
			m.put(buffer+8, two)
			root := blocks.Range{Start: start + 6*size, End: start + 8*size}
			at := root.Start
			if !inRoot {
				m.put(root.Start, owner)
				at = owner
			}
			for i, w := range c.words {
				m.put(at+8*uint64(i), w)
			}
			g, err := Build(Memory{Memory: m}, set, Options{})
			require.NoError(t, err)
			g.Mark([]Root{{Phase: 1, Range: root}})
			for address, want := range map[uint64]Phase{buffer: 1, one: c.one, two: c.two} {
				p, ok := g.Path(address, 10)
				require.True(t, ok)
				assert.Equal(t, want, p.Phase, "%s: block %d, in a root: %t", name, (address-start)/size, inRoot)
			}
		}
	}
}

// TestVectorWithDuplicate has an element that is also behind the elements, and a buffer that is read in parts.
func TestVectorWithDuplicate(t *testing.T) {
	const n, size = 4, 4 << 20
	m, set := equal(t, n, size)
	buffer, kept, dropped := uint64(start), uint64(start+size), uint64(start+2*size)
	m.put(buffer, kept)
	m.put(buffer+size-16, dropped)
	m.put(buffer+size-8, kept)
	root := blocks.Range{Start: start + n*size, End: start + n*size + 24}
	m.put(root.Start, buffer)
	m.put(root.Start+8, buffer+size/2)
	m.put(root.Start+16, buffer+size)
	g, err := Build(Memory{Memory: m}, set, Options{})
	require.NoError(t, err)
	g.Mark([]Root{{Phase: 1, Range: root}})
	phases := map[uint64]Phase{}
	for _, address := range []uint64{buffer, kept, dropped} {
		p, _ := g.Path(address, 1)
		phases[address] = p.Phase
	}
	assert.Equal(t, map[uint64]Phase{buffer: 1, kept: 1, dropped: Doubtful}, phases)
}
