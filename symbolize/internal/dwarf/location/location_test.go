package location

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParts(t *testing.T) {
	frame := Frame{CFA: 0x7000, Registers: map[uint64]uint64{7: 0x6f00}}
	for name, c := range map[string]struct {
		expression []byte
		want       []Part
	}{
		"relative to the frame":      {[]byte{OpFbreg, 0x70}, []Part{{Address: 0x6ff0}}},
		"relative to a register":     {[]byte{OpBreg0 + 7, 8}, []Part{{Address: 0x6f08}}},
		"with an offset":             {[]byte{OpBreg0 + 7, 8, OpPlusUconst, 0x10}, []Part{{Address: 0x6f18}}},
		"register is not known":      {[]byte{OpBreg0 + 3, 8}, nil},
		"in a register":              {[]byte{OpReg0 + 3}, nil},
		"a value that is computed":   {[]byte{OpFbreg, 0x60, OpStackValue}, nil},
		"behind a pointer":           {[]byte{OpFbreg, 0x60, OpDeref}, nil},
		"unknown operation":          {[]byte{OpFbreg, 0x60, 0xff}, nil},
		"truncated":                  {[]byte{OpFbreg}, nil},
		"empty":                      {nil, nil},
		"one piece in memory":        {[]byte{OpReg0, OpPiece, 8, OpFbreg, 0x60, OpPiece, 8}, []Part{{8, 8, 0x6fe0}}},
		"piece that does not exist":  {[]byte{OpPiece, 4, OpBreg0 + 7, 8, OpPiece, 4}, []Part{{4, 4, 0x6f08}}},
		"piece without a size":       {[]byte{OpFbreg, 0x60, OpPiece}, nil},
		"pieces up to an unknown op": {[]byte{OpFbreg, 0x60, OpPiece, 8, 0xff, OpPiece, 8}, []Part{{0, 8, 0x6fe0}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Parts(c.expression, []byte{OpCallFrameCFA}, frame))
		})
	}
}

func TestFrameBase(t *testing.T) {
	frame := Frame{CFA: 0x7000, Registers: map[uint64]uint64{6: 0x6e00}}
	inFrame := []byte{OpFbreg, 8}
	require.Equal(t, []Part{{Address: 0x7008}}, Parts(inFrame, []byte{OpCallFrameCFA}, frame))
	require.Equal(t, []Part{{Address: 0x6e08}}, Parts(inFrame, []byte{OpReg0 + 6}, frame))
	require.Equal(t, []Part{{Address: 0x6e18}}, Parts(inFrame, []byte{OpBreg0 + 6, 0x10}, frame))
	require.Empty(t, Parts(inFrame, []byte{OpReg0 + 5}, frame), "the register is not known")
	require.Empty(t, Parts(inFrame, []byte{OpCallFrameCFA, OpDeref}, frame), "more than is understood")
	require.Empty(t, Parts(inFrame, nil, frame))
}

func TestFixed(t *testing.T) {
	indexed := func(i uint64) (uint64, bool) { return 0x2000 + i, i < 4 }
	for name, c := range map[string]struct {
		expression  []byte
		addr        uint64
		threadLocal bool
		ok          bool
	}{
		"address":                   {[]byte{OpAddr, 0, 0x10, 0, 0}, 0x1000, false, true},
		"by index":                  {[]byte{OpAddrx, 3}, 0x2003, false, true},
		"index outside of table":    {[]byte{OpAddrx, 4}, 0x2004, false, false},
		"thread-local":              {[]byte{OpConst4u, 0x10, 0, 0, 0, OpGNUPushTLSAddress}, 0x10, true, true},
		"thread-local, DWARF 5":     {[]byte{OpConst8u, 0x20, 0, 0, 0, 0, 0, 0, 0, OpFormTLSAddress}, 0x20, true, true},
		"relative to the frame":     {[]byte{OpFbreg, 0}, 0, false, false},
		"truncated":                 {[]byte{OpAddr, 0, 0x10}, 0, false, false},
		"more than two operations":  {[]byte{OpAddrx, 3, OpFormTLSAddress, OpDeref}, 0x2003, true, false},
		"an expression that is nil": {nil, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			addr, threadLocal, ok := Fixed(c.expression, 4, indexed)
			require.Equal(t, []any{c.addr, c.threadLocal, c.ok}, []any{addr, threadLocal, ok})
		})
	}
}

func TestMember(t *testing.T) {
	offset, ok := Member([]byte{OpPlusUconst, 0x90, 1})
	require.True(t, ok)
	require.Equal(t, uint64(0x90), offset)
	for _, e := range [][]byte{nil, {OpPlusUconst}, {OpPlusUconst, 8, OpDeref}, {OpFbreg, 8}} {
		_, ok := Member(e)
		require.False(t, ok, "% x", e)
	}
}

// FuzzParts reads hostile expressions. Parts come in order, and are limited.
func FuzzParts(f *testing.F) {
	f.Add([]byte{OpFbreg, 0x78})
	f.Add([]byte{OpFbreg, 1, OpPiece, 0xff, 0xff, 1, OpFbreg, OpPiece})
	f.Fuzz(func(t *testing.T, expression []byte) {
		parts := Parts(expression, []byte{OpCallFrameCFA}, Frame{CFA: 0x7000})
		require.LessOrEqual(t, len(parts), min(maxParts, len(expression)))
		offset := uint64(0)
		for _, p := range parts {
			require.GreaterOrEqual(t, p.Offset, offset)
			offset = p.Offset + p.Size
		}
	})
}
