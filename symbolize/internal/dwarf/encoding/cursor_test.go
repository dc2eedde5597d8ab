package encoding_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

func TestCursorReadsLEB128(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0, 1, 63, 64, 127, 128, 129, 16383, 16384, math.MaxInt64, math.MaxUint64}
	for range 1000 {
		values = append(values, random.Uint64()>>random.UintN(64))
	}
	for _, v := range values {
		c := encoding.Cursor{Data: dwarftest.Bytes{}.Uleb(v)}
		require.Equal(t, v, c.Uleb())
		require.Equal(t, uint64(len(c.Data)), c.Off)
		s := encoding.Cursor{Data: dwarftest.Bytes{}.Sleb(int64(v))}
		require.Equal(t, int64(v), s.Sleb())
		require.Equal(t, uint64(len(s.Data)), s.Off)
		require.False(t, c.Failed || s.Failed)
	}
}

func TestCursorDropsExcessBitsOfLEB128(t *testing.T) {
	overlong := make([]byte, 100)
	for i := range overlong {
		overlong[i] = 0x80
	}
	overlong[0] = 0x85
	overlong = append(overlong, 0)
	c := encoding.Cursor{Data: overlong}
	require.Equal(t, uint64(5), c.Uleb())
	require.Equal(t, uint64(101), c.Off)
	s := encoding.Cursor{Data: overlong}
	require.Equal(t, int64(5), s.Sleb())
}

func TestCursorReadsFixedSizes(t *testing.T) {
	c := encoding.Cursor{Data: dwarftest.Bytes{}.U8(1).U16(0x302).U8(4, 5, 6).U32(0x0a090807).U64(0x1211100f0e0d0c0b).Str("text")}
	require.Equal(t, uint8(1), c.U8())
	require.Equal(t, uint16(0x302), c.U16())
	require.Equal(t, uint32(0x060504), c.U24())
	require.Equal(t, uint32(0x0a090807), c.U32())
	require.Equal(t, uint64(0x1211100f0e0d0c0b), c.U64())
	require.Equal(t, "text", c.String())
	require.False(t, c.Failed)
	require.Equal(t, uint64(len(c.Data)), c.Off)
}

// TestCursorFailsPastTheEnd: each read past the end fails and returns 0, and so do later reads.
func TestCursorFailsPastTheEnd(t *testing.T) {
	reads := map[string]func(c *encoding.Cursor) uint64{
		"u8":      func(c *encoding.Cursor) uint64 { c.Skip(3); return uint64(c.U8()) },
		"u16":     func(c *encoding.Cursor) uint64 { c.Skip(2); return uint64(c.U16()) },
		"u24":     func(c *encoding.Cursor) uint64 { c.Skip(1); return uint64(c.U24()) },
		"u32":     func(c *encoding.Cursor) uint64 { return uint64(c.U32()) },
		"u64":     func(c *encoding.Cursor) uint64 { return c.U64() },
		"word":    func(c *encoding.Cursor) uint64 { return c.Word(true) },
		"uint3":   func(c *encoding.Cursor) uint64 { return c.Uint(3) },
		"skip":    func(c *encoding.Cursor) uint64 { c.Skip(math.MaxUint64); return 0 },
		"seek":    func(c *encoding.Cursor) uint64 { c.Seek(4); return 0 },
		"cstring": func(c *encoding.Cursor) uint64 { return uint64(len(c.String())) },
		"string":  func(c *encoding.Cursor) uint64 { c.SkipString(); return 0 },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			c := encoding.Cursor{Data: []byte{0xff, 0xff, 0xff}}
			require.Zero(t, read(&c))
			require.True(t, c.Failed)
			off := c.Off
			require.Zero(t, c.U8(), "a failed Cursor reads nothing more")
			require.Zero(t, c.Uleb())
			require.Equal(t, off, c.Off)
		})
	}
}
