package dwarf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCursorReadsLEB128(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0, 1, 63, 64, 127, 128, 129, 16383, 16384, math.MaxInt64, math.MaxUint64}
	for range 1000 {
		values = append(values, random.Uint64()>>random.UintN(64))
	}
	for _, v := range values {
		c := cursor{b: bytesOf{}.uleb(v)}
		require.Equal(t, v, c.uleb())
		require.Equal(t, uint64(len(c.b)), c.off)
		s := cursor{b: bytesOf{}.sleb(int64(v))}
		require.Equal(t, int64(v), s.sleb())
		require.Equal(t, uint64(len(s.b)), s.off)
		require.False(t, c.failed || s.failed)
	}
}

func TestCursorIgnoresOverlongLEB128(t *testing.T) {
	overlong := make([]byte, 100)
	for i := range overlong {
		overlong[i] = 0x80
	}
	overlong[0] = 0x85
	overlong = append(overlong, 0)
	c := cursor{b: overlong}
	require.Equal(t, uint64(5), c.uleb())
	require.Equal(t, uint64(101), c.off)
	s := cursor{b: overlong}
	require.Equal(t, int64(5), s.sleb())
}

func TestCursorReadsFixedSizes(t *testing.T) {
	c := cursor{b: bytesOf{}.u8(1).u16(0x302).u8(4, 5, 6).u32(0x0a090807).u64(0x1211100f0e0d0c0b).str("text")}
	require.Equal(t, uint8(1), c.u8())
	require.Equal(t, uint16(0x302), c.u16())
	require.Equal(t, uint32(0x060504), c.u24())
	require.Equal(t, uint32(0x0a090807), c.u32())
	require.Equal(t, uint64(0x1211100f0e0d0c0b), c.u64())
	require.Equal(t, "text", c.cstring())
	require.False(t, c.failed)
	require.Equal(t, uint64(len(c.b)), c.off)
}

// TestCursorFailsPastTheEnd: every read of a short section fails, gives zero and keeps failing.
func TestCursorFailsPastTheEnd(t *testing.T) {
	reads := map[string]func(c *cursor) uint64{
		"u8":      func(c *cursor) uint64 { c.skip(3); return uint64(c.u8()) },
		"u16":     func(c *cursor) uint64 { c.skip(2); return uint64(c.u16()) },
		"u24":     func(c *cursor) uint64 { c.skip(1); return uint64(c.u24()) },
		"u32":     func(c *cursor) uint64 { return uint64(c.u32()) },
		"u64":     func(c *cursor) uint64 { return c.u64() },
		"word":    func(c *cursor) uint64 { return c.word(true) },
		"uint3":   func(c *cursor) uint64 { return c.uint(3) },
		"skip":    func(c *cursor) uint64 { c.skip(math.MaxUint64); return 0 },
		"seek":    func(c *cursor) uint64 { c.seek(4); return 0 },
		"cstring": func(c *cursor) uint64 { return uint64(len(c.cstring())) },
		"string":  func(c *cursor) uint64 { c.skipString(); return 0 },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			c := cursor{b: []byte{0xff, 0xff, 0xff}}
			require.Zero(t, read(&c))
			require.True(t, c.failed)
			off := c.off
			require.Zero(t, c.u8(), "a failed cursor reads nothing more")
			require.Zero(t, c.uleb())
			require.Equal(t, off, c.off)
		})
	}
}
