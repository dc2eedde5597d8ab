package intern

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTexts: texts of all lengths, also longer than a chunk, are found again.
func TestTexts(t *testing.T) {
	var c Texts
	text := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, i*i/40) }
	const n = 3000
	for i := range n {
		_, hash, ok := c.Find(text(i + 10))
		require.False(t, ok, i)
		c.Put(text(i+10), hash, uint32(i))
	}
	require.Greater(t, len(text(n)), textChunk)
	for i := range n {
		number, _, ok := c.Find(text(i + 10))
		require.True(t, ok, i)
		require.EqualValues(t, i, number)
	}
}

// TestTextsGrowth: what is allocated with the next text is known before.
func TestTextsGrowth(t *testing.T) {
	var c Texts
	calls := 0
	for i := range 100_000 {
		text := []byte{byte(i), byte(i >> 8), byte(i >> 16)}
		_, hash, _ := c.Find(text)
		slots, entries, growth := len(c.slots), cap(c.entries), c.Growth()
		c.Put(text, hash, 0)
		if i < 1000 { // little
			continue
		}
		if len(c.slots) > slots || cap(c.entries) > entries {
			calls++
			require.GreaterOrEqual(t, 2*growth, int64(4*(len(c.slots)-slots)+24*(cap(c.entries)-entries)), i)
		} else {
			require.Zero(t, growth)
		}
	}
	require.Positive(t, calls)
}
