package dwarf

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/interval"
)

// unitWith returns a unit of a DWARF version with the sections that range lists need.
func unitWith(version uint16, sec Sections) *unit {
	d := &Data{sec: sec}
	d.renewBudget()
	return &unit{unitShape: unitShape{version, 8, false}, data: d, lowPC: 0x1000}
}

func TestLowAndHighAddress(t *testing.T) {
	addrTable := bytesOf{}.u64(0xdead, 0x2000, 0x2040)
	for name, c := range map[string]struct {
		low, high value
		want      []interval.Range
	}{
		"high as address":         {value{formAddr, 0x10}, value{formAddr, 0x30}, ranges(0x10, 0x30)},
		"high as size":            {value{formAddr, 0x10}, value{formData4, 0x30}, ranges(0x10, 0x40)},
		"by index":                {value{formAddrx1, 1}, value{formUdata, 0x10}, ranges(0x2000, 0x2010)},
		"both by index":           {value{formAddrx, 1}, value{formAddrx, 2}, ranges(0x2000, 0x2040)},
		"index out of table":      {value{formAddrx, 3}, value{formUdata, 0x10}, nil},
		"huge index":              {value{formAddrx, 1<<63 + 1}, value{formUdata, 0x10}, nil},
		"empty":                   {value{formAddr, 0x10}, value{formData4, 0}, nil},
		"backward":                {value{formAddr, 0x30}, value{formAddr, 0x10}, nil},
		"wraps around":            {value{formAddr, 0x30}, value{formData8, ^uint64(0)}, nil},
		"tombstone 0":             {value{formAddr, 0}, value{formData4, 0x30}, nil},
		"tombstone 1":             {value{formAddr, 1}, value{formData4, 0x30}, nil},
		"tombstone of lld":        {value{formAddr, ^uint64(0)}, value{formData4, 0x30}, nil},
		"tombstone of lld, older": {value{formAddr, ^uint64(0) - 1}, value{formData4, 1}, nil},
		"only low":                {value{formAddr, 0x10}, value{}, nil},
		"low is not an address":   {value{formData4, 0x10}, value{formData4, 0x10}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(5, Sections{Addr: addrTable})
			require.Equal(t, c.want, u.rangesOf(&entry{lowPC: c.low, highPC: c.high}))
		})
	}
}

func TestOldRangeLists(t *testing.T) {
	const escape = ^uint64(0)
	for name, c := range map[string]struct {
		list bytesOf
		want []interval.Range
	}{
		"relative to the unit":           {bytesOf{}.u64(0x10, 0x20, 0x30, 0x40, 0, 0), ranges(0x1010, 0x1020, 0x1030, 0x1040)},
		"base address":                   {bytesOf{}.u64(escape, 0x5000, 1, 9, 0, 0), ranges(0x5001, 0x5009)},
		"base of dropped code":           {bytesOf{}.u64(escape, 0, 0, 9, 0x10, 0x20, 0, 0), ranges(0x10, 0x20)},
		"empty range, then more":         {bytesOf{}.u64(5, 5, 0x10, 0x20, 0, 0), ranges(0x1010, 0x1020)},
		"truncated: the complete ranges": {bytesOf{}.u64(0x10, 0x20), ranges(0x1010, 0x1020)},
		"truncated within a pair":        {bytesOf{}.u64(0x10, 0x20, 0x30), ranges(0x1010, 0x1020)},
		"nothing follows end of list":    {bytesOf{}.u64(0, 0, 0x10, 0x20), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(4, Sections{Ranges: append(make([]byte, 16), c.list...)})
			require.Equal(t, c.want, u.rangesOf(&entry{ranges: value{formSecOffset, 16}}))
		})
	}
	outside := unitWith(4, Sections{})
	require.Empty(t, outside.rangesOf(&entry{ranges: value{formSecOffset, 1 << 40}}))
}

func TestRnglists(t *testing.T) {
	addrTable := bytesOf{}.u64(0x2000, 0x3000, 0)
	for name, c := range map[string]struct {
		list bytesOf
		want []interval.Range
	}{
		"offset_pair":                {bytesOf{4}.uleb(0x10, 0x20).u8(0), ranges(0x1010, 0x1020)},
		"base_address":               {bytesOf{5}.u64(0x8000).u8(4).uleb(1, 2).u8(0), ranges(0x8001, 0x8002)},
		"base_addressx":              {bytesOf{1}.uleb(1).u8(4).uleb(1, 2).u8(0), ranges(0x3001, 0x3002)},
		"base_addressx, dropped":     {bytesOf{1}.uleb(2).u8(4).uleb(0, 0x99).u8(4).uleb(0x10, 0x20).u8(0), nil},
		"base_addressx, then back":   {bytesOf{1, 2, 4, 0, 9, 1, 0, 4, 1, 2, 0}, ranges(0x2001, 0x2002)},
		"startx_endx":                {bytesOf{2}.uleb(0, 1).u8(0), ranges(0x2000, 0x3000)},
		"startx_length":              {bytesOf{3}.uleb(1, 0x40).u8(0), ranges(0x3000, 0x3040)},
		"startx_length, dropped":     {bytesOf{3}.uleb(2, 0x40).u8(0), nil},
		"index outside the table":    {bytesOf{3}.uleb(77, 0x40).u8(0), nil},
		"start_end":                  {bytesOf{6}.u64(0x10, 0x20).u8(0), ranges(0x10, 0x20)},
		"start_length":               {bytesOf{7}.u64(0x10).uleb(0x20).u8(0), ranges(0x10, 0x30)},
		"several":                    {bytesOf{7}.u64(0x10).uleb(1).u8(7).u64(0x20).uleb(1).u8(0), ranges(0x10, 0x11, 0x20, 0x21)},
		"unknown kind ends the list": {bytesOf{9, 7}.u64(0x10).uleb(1).u8(0), nil},
		"truncated":                  {bytesOf{6}.u64(0x10), nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unitWith(5, Sections{RngLists: append(make([]byte, 12), c.list...), Addr: addrTable})
			require.Equal(t, c.want, u.rangesOf(&entry{ranges: value{formSecOffset, 12}}))
		})
	}
}

func TestRnglistByIndex(t *testing.T) {
	// A header of 12 bytes, two offsets relative to the base that follows it, two lists.
	list := func(lo uint64) bytesOf { return bytesOf{7}.u64(lo).uleb(0x10).u8(0) }
	section := append(make(bytesOf, 12), bytesOf{}.u32(8).u32(8+11)...)
	section = append(append(section, list(0x100)...), list(0x200)...)
	u := unitWith(5, Sections{RngLists: section})
	u.rnglistsBase = 12
	for index, want := range []uint64{0x100, 0x200} {
		require.Equal(t, ranges(want, want+0x10), u.rangesOf(&entry{ranges: value{formRnglistx, uint64(index)}}))
	}
	require.Empty(t, u.rangesOf(&entry{ranges: value{formRnglistx, 1 << 61}}), "an index that overflows")
}

// TestSplitUnitsHaveTheirTablesAfterTheHeader: split units of DWARF 5 have no DW_AT_rnglists_base
// and no DW_AT_str_offsets_base (section 7.28).
func TestSplitUnitsHaveTheirTablesAfterTheHeader(t *testing.T) {
	for is64, size := range map[bool]uint64{false: 12, true: 20} {
		split := &unit{unitShape: unitShape{5, 8, is64}, kind: unitSplitCompile}
		split.setBases(&entry{})
		require.Equal(t, size, split.rnglistsBase)
		require.Equal(t, size-4, split.strOffsetsBase)
		plain := &unit{unitShape: unitShape{5, 8, is64}, kind: unitCompile}
		plain.setBases(&entry{})
		require.Zero(t, plain.rnglistsBase)
	}
}

// TestSkeletonRangesAreAbsolute: DW_AT_GNU_ranges_base applies to the entries of the split unit,
// not to the skeleton.
func TestSkeletonRangesAreAbsolute(t *testing.T) {
	u := unitWith(4, Sections{Ranges: bytesOf{}.u64(0x10, 0x20, 0, 0, 0x30, 0x40, 0, 0)})
	u.setBases(&entry{rangesBase: value{formSecOffset, 32}})
	require.Equal(t, ranges(0x1010, 0x1020), u.rangesOf(&entry{ranges: value{formSecOffset, 0}}))
	require.Equal(t, uint64(32), u.splitRangesBase)
}

// TestUnitIndexAgainstBruteForce: at every address, the unit whose range holds it and starts last.
// In the crafted case more than 300 units lie within one.
func TestUnitIndexAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(units []*unit, limit uint64) {
		x := newUnitIndex(units)
		for a := range limit {
			var want *unit
			start := uint64(0)
			for _, u := range units {
				for _, r := range u.ranges {
					if r.Lo <= a && a < r.Hi && r.Lo >= start {
						want, start = u, r.Lo
					}
				}
			}
			require.Equal(t, want, x.find(a), "address %d", a)
		}
	}
	for range 300 {
		var units []*unit
		for n := random.IntN(20); n > 0; n-- {
			lo := random.Uint64N(120)
			units = append(units, &unit{off: uint64(n), ranges: ranges(lo, lo+1+random.Uint64N(60), lo+90, lo+92)})
		}
		check(units, 300)
	}
	within := []*unit{{ranges: ranges(0, 1000)}}
	for n := range uint64(400) {
		within = append(within, &unit{off: n, ranges: ranges(2*n, 2*n+1)})
	}
	check(within, 1100)
}

// ranges returns the ranges between pairs of addresses.
func ranges(ends ...uint64) (out []interval.Range) {
	for ; len(ends) > 0; ends = ends[2:] {
		out = append(out, interval.Range{Lo: ends[0], Hi: ends[1]})
	}
	return out
}
