package values

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/interval"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
)

// unitWith returns a unit of a DWARF version with the sections that range lists need.
func unitWith(version uint16, sec Sections) *Unit {
	f := &File{Sections: sec}
	f.Renew(func(int) int { return 1 << 16 })
	return &Unit{Shape: encoding.Shape{Version: version, AddrSize: 8, Is64: false}, File: f, LowPC: 0x1000}
}

func TestLowAndHighAddress(t *testing.T) {
	addrTable := dwarftest.Bytes{}.U64(0xdead, 0x2000, 0x2040)
	for name, c := range map[string]struct {
		low, high encoding.Value
		want      []interval.Range
	}{
		"high as address":         {value(encoding.FormAddr, 0x10), value(encoding.FormAddr, 0x30), ranges(0x10, 0x30)},
		"high as size":            {value(encoding.FormAddr, 0x10), value(encoding.FormData4, 0x30), ranges(0x10, 0x40)},
		"by index":                {value(encoding.FormAddrx1, 1), value(encoding.FormUdata, 0x10), ranges(0x2000, 0x2010)},
		"both by index":           {value(encoding.FormAddrx, 1), value(encoding.FormAddrx, 2), ranges(0x2000, 0x2040)},
		"index out of table":      {value(encoding.FormAddrx, 3), value(encoding.FormUdata, 0x10), nil},
		"huge index":              {value(encoding.FormAddrx, 1<<63+1), value(encoding.FormUdata, 0x10), nil},
		"empty":                   {value(encoding.FormAddr, 0x10), value(encoding.FormData4, 0), nil},
		"backward":                {value(encoding.FormAddr, 0x30), value(encoding.FormAddr, 0x10), nil},
		"wraps around":            {value(encoding.FormAddr, 0x30), value(encoding.FormData8, ^uint64(0)), nil},
		"tombstone 0":             {value(encoding.FormAddr, 0), value(encoding.FormData4, 0x30), nil},
		"tombstone 1":             {value(encoding.FormAddr, 1), value(encoding.FormData4, 0x30), nil},
		"tombstone of lld":        {value(encoding.FormAddr, ^uint64(0)), value(encoding.FormData4, 0x30), nil},
		"tombstone of lld, older": {value(encoding.FormAddr, ^uint64(0)-1), value(encoding.FormData4, 1), nil},
		"only low":                {value(encoding.FormAddr, 0x10), encoding.Value{}, nil},
		"low is not an address":   {value(encoding.FormData4, 0x10), value(encoding.FormData4, 0x10), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(5, Sections{Addr: addrTable})
			require.Equal(t, c.want, u.Ranges(&encoding.Entry{LowPC: c.low, HighPC: c.high}))
		})
	}
}

func TestOldRangeLists(t *testing.T) {
	const escape = ^uint64(0)
	for name, c := range map[string]struct {
		list dwarftest.Bytes
		want []interval.Range
	}{
		"relative to the unit":           {dwarftest.Bytes{}.U64(0x10, 0x20, 0x30, 0x40, 0, 0), ranges(0x1010, 0x1020, 0x1030, 0x1040)},
		"base address":                   {dwarftest.Bytes{}.U64(escape, 0x5000, 1, 9, 0, 0), ranges(0x5001, 0x5009)},
		"base of dropped code":           {dwarftest.Bytes{}.U64(escape, 0, 0, 9, 0x10, 0x20, 0, 0), ranges(0x10, 0x20)},
		"empty range, then more":         {dwarftest.Bytes{}.U64(5, 5, 0x10, 0x20, 0, 0), ranges(0x1010, 0x1020)},
		"truncated: the complete ranges": {dwarftest.Bytes{}.U64(0x10, 0x20), ranges(0x1010, 0x1020)},
		"truncated within a pair":        {dwarftest.Bytes{}.U64(0x10, 0x20, 0x30), ranges(0x1010, 0x1020)},
		"nothing follows end of list":    {dwarftest.Bytes{}.U64(0, 0, 0x10, 0x20), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(4, Sections{Ranges: append(make([]byte, 16), c.list...)})
			require.Equal(t, c.want, u.Ranges(&encoding.Entry{Ranges: value(encoding.FormSecOffset, 16)}))
		})
	}
	outside := unitWith(4, Sections{})
	require.Empty(t, outside.Ranges(&encoding.Entry{Ranges: value(encoding.FormSecOffset, 1<<40)}))
}

func TestRnglists(t *testing.T) {
	addrTable := dwarftest.Bytes{}.U64(0x2000, 0x3000, 0)
	for name, c := range map[string]struct {
		list dwarftest.Bytes
		want []interval.Range
	}{
		"offset_pair":                {dwarftest.Bytes{4}.Uleb(0x10, 0x20).U8(0), ranges(0x1010, 0x1020)},
		"base_address":               {dwarftest.Bytes{5}.U64(0x8000).U8(4).Uleb(1, 2).U8(0), ranges(0x8001, 0x8002)},
		"base_addressx":              {dwarftest.Bytes{1}.Uleb(1).U8(4).Uleb(1, 2).U8(0), ranges(0x3001, 0x3002)},
		"base_addressx, dropped":     {dwarftest.Bytes{1}.Uleb(2).U8(4).Uleb(0, 0x99).U8(4).Uleb(0x10, 0x20).U8(0), nil},
		"base_addressx, then back":   {dwarftest.Bytes{1, 2, 4, 0, 9, 1, 0, 4, 1, 2, 0}, ranges(0x2001, 0x2002)},
		"startx_endx":                {dwarftest.Bytes{2}.Uleb(0, 1).U8(0), ranges(0x2000, 0x3000)},
		"startx_length":              {dwarftest.Bytes{3}.Uleb(1, 0x40).U8(0), ranges(0x3000, 0x3040)},
		"startx_length, dropped":     {dwarftest.Bytes{3}.Uleb(2, 0x40).U8(0), nil},
		"index outside the table":    {dwarftest.Bytes{3}.Uleb(77, 0x40).U8(0), nil},
		"start_end":                  {dwarftest.Bytes{6}.U64(0x10, 0x20).U8(0), ranges(0x10, 0x20)},
		"start_length":               {dwarftest.Bytes{7}.U64(0x10).Uleb(0x20).U8(0), ranges(0x10, 0x30)},
		"several":                    {dwarftest.Bytes{7}.U64(0x10).Uleb(1).U8(7).U64(0x20).Uleb(1).U8(0), ranges(0x10, 0x11, 0x20, 0x21)},
		"unknown kind ends the list": {dwarftest.Bytes{9, 7}.U64(0x10).Uleb(1).U8(0), nil},
		"truncated":                  {dwarftest.Bytes{6}.U64(0x10), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(5, Sections{RngLists: append(make([]byte, 12), c.list...), Addr: addrTable})
			require.Equal(t, c.want, u.Ranges(&encoding.Entry{Ranges: value(encoding.FormSecOffset, 12)}))
		})
	}
}

func TestRnglistByIndex(t *testing.T) {
	// A header of 12 bytes, two offsets relative to the base that follows it, two lists.
	list := func(lo uint64) dwarftest.Bytes { return dwarftest.Bytes{7}.U64(lo).Uleb(0x10).U8(0) }
	section := append(make(dwarftest.Bytes, 12), dwarftest.Bytes{}.U32(8).U32(8+11)...)
	section = append(append(section, list(0x100)...), list(0x200)...)
	u := unitWith(5, Sections{RngLists: section})
	u.rnglistsBase = 12
	for index, want := range []uint64{0x100, 0x200} {
		require.Equal(t, ranges(want, want+0x10), u.Ranges(&encoding.Entry{Ranges: value(encoding.FormRnglistx, uint64(index))}))
	}
	require.Empty(t, u.Ranges(&encoding.Entry{Ranges: value(encoding.FormRnglistx, 1<<61)}), "an index that overflows")
}

// TestSplitUnitsHaveTheirTablesAfterTheHeader: split units of DWARF 5 have no DW_AT_rnglists_base
// and no DW_AT_str_offsets_base (section 7.28).
func TestSplitUnitsHaveTheirTablesAfterTheHeader(t *testing.T) {
	for is64, size := range map[bool]uint64{false: 12, true: 20} {
		split := &Unit{Shape: encoding.Shape{Version: 5, AddrSize: 8, Is64: is64}}
		split.ReadBases(&encoding.Entry{}, true)
		require.Equal(t, size, split.rnglistsBase)
		require.Equal(t, size-4, split.strOffsetsBase)
		plain := &Unit{Shape: encoding.Shape{Version: 5, AddrSize: 8, Is64: is64}}
		plain.ReadBases(&encoding.Entry{}, false)
		require.Zero(t, plain.rnglistsBase)
	}
}

// TestSkeletonRangesAreAbsolute: DW_AT_GNU_ranges_base applies to the entries of the split unit,
// not to the skeleton.
func TestSkeletonRangesAreAbsolute(t *testing.T) {
	u := unitWith(4, Sections{Ranges: dwarftest.Bytes{}.U64(0x10, 0x20, 0, 0, 0x30, 0x40, 0, 0)})
	u.ReadBases(&encoding.Entry{RangesBase: value(encoding.FormSecOffset, 32)}, false)
	require.Equal(t, ranges(0x1010, 0x1020), u.Ranges(&encoding.Entry{Ranges: value(encoding.FormSecOffset, 0)}))
	require.Equal(t, uint64(32), u.splitRangesBase)
}

// ranges returns the ranges between pairs of addresses.
func ranges(ends ...uint64) (out []interval.Range) {
	for ; len(ends) > 0; ends = ends[2:] {
		out = append(out, interval.Range{Lo: ends[0], Hi: ends[1]})
	}
	return out
}

func value(f encoding.Form, u uint64) encoding.Value { return encoding.Value{Form: f, U: u} }

// FuzzRanges reads lists of any bytes. No range is empty or belongs to code that the linker
// dropped.
func FuzzRanges(f *testing.F) {
	f.Add([]byte(dwarftest.Bytes{}.U64(0x10, 0x20, ^uint64(0), 0x5000, 1, 9, 0, 0)), uint64(0), true)
	f.Add([]byte(dwarftest.Bytes{1, 1, 4, 1, 2, 7}.U64(0x10).Uleb(1).U8(0)), uint64(0), false)
	f.Add([]byte(dwarftest.Bytes{}.U32(4).U8(3, 0, 9, 0)), uint64(0), false)
	f.Fuzz(func(t *testing.T, list []byte, off uint64, old bool) {
		u := unitWith(5, Sections{RngLists: list, Addr: dwarftest.Bytes{}.U64(0x2000, 0, 1, ^uint64(0))})
		if old {
			u = unitWith(4, Sections{Ranges: list})
		}
		for _, form := range []encoding.Form{encoding.FormSecOffset, encoding.FormRnglistx} {
			got := u.Ranges(&encoding.Entry{Ranges: value(form, off)})
			require.LessOrEqual(t, len(got), len(list)+1)
			for _, r := range got {
				require.Less(t, r.Lo, r.Hi)
				require.Greater(t, r.Lo, uint64(1))
			}
		}
	})
}
