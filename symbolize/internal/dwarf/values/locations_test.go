package values

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// TestLocationLists: the expression is DW_OP_fbreg -8 from 0x1000 to 0x1010, and DW_OP_reg0 from there to 0x1100.
func TestLocationLists(t *testing.T) {
	old := dwarftest.Bytes{}.U64(^uint64(0), 0x1000, 0, 0x10).U16(2).U8(0x91, 0x78).U64(0x10, 0x100).U16(1).U8(0x50).U64(0, 0)
	list := dwarftest.Bytes{}.U8(9, 0, 0).U8(4).Uleb(0, 0x10, 2).U8(0x91, 0x78).U8(7).U64(0x1010, 0x1100).Uleb(1).U8(0x50).U8(0)
	for version, u := range map[uint16]*Unit{4: unitWith(4, Sections{Loc: old}), 5: unitWith(5, Sections{LocLists: list})} {
		at := func(pc uint64) []byte { return u.Expression(value(encoding.FormSecOffset, 0), pc) }
		require.Equal(t, []byte{0x91, 0x78}, at(0x1000), version)
		require.Equal(t, []byte{0x91, 0x78}, at(0x100f), version)
		require.Equal(t, []byte{0x50}, at(0x1010), version)
		require.Empty(t, at(0xfff), version)
		require.Empty(t, at(0x1100), version)
		u.File.Renew(func(int) int { return 1 })
		require.Empty(t, at(0x1010), "the second entry is more than the budget")
	}
	byDefault := unitWith(5, Sections{LocLists: dwarftest.Bytes{}.U8(5).Uleb(1).U8(0x50).U8(4).Uleb(0, 0x10, 2).U8(0x91, 0x78).U8(0)})
	require.Equal(t, []byte{0x91, 0x78}, byDefault.Expression(value(encoding.FormSecOffset, 0), 0x1000))
	require.Equal(t, []byte{0x50}, byDefault.Expression(value(encoding.FormSecOffset, 0), 0x2000), "elsewhere")
}
