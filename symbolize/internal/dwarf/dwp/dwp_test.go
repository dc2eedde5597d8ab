package dwp

import (
	"strings"
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/stretchr/testify/require"
)

// packageIndex returns an index of version 2 or 5. Each unit has a cell of offset and size for each
// column.
func packageIndex(version uint32, columns []uint32, ids []uint64, cells ...[2]uint32) dwarftest.Bytes {
	slots := 8
	b := dwarftest.Bytes{}.U32(version).U32(uint32(len(columns))).U32(uint32(len(ids))).U32(uint32(slots))
	hash, rows := make([]uint64, slots), make([]uint32, slots)
	for i, id := range ids {
		slot, step := id&7, id>>32&7|1 // DWARF 5 section 7.3.5.3
		for rows[slot] != 0 {
			slot = (slot + step) & 7
		}
		hash[slot], rows[slot] = id, uint32(i+1)
	}
	b = b.U64(hash...)
	for _, r := range append(rows, columns...) {
		b = b.U32(r)
	}
	for part := range 2 {
		for _, c := range cells {
			b = b.U32(c[part])
		}
	}
	return b
}

// packaged returns the sections and the index of a package with two units: f at 100 and g at 200.
func packaged(version uint32) (dwarf.Sections, dwarftest.Bytes) {
	f := dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 10).Function("f", 100, 10).End().End())
	g := dwarftest.Unit4(dwarftest.Bytes{}.Unit(200, 10).Function("g", 200, 10).End().End())
	abbrevs := dwarftest.Abbrevs()
	n := uint32(len(abbrevs))
	sec := dwarf.Sections{Info: append(append([]byte{0xcc}, f...), g...), Abbrev: append(append([]byte{}, abbrevs...), abbrevs...)}
	index := packageIndex(version, []uint32{uint32(partInfo), uint32(partAbbrev)}, []uint64{8, 1<<32 | 16},
		[2]uint32{1, uint32(len(f))}, [2]uint32{0, n}, [2]uint32{1 + uint32(len(f)), uint32(len(g))}, [2]uint32{n, n})
	return sec, index
}

// functions returns the names of the functions at the addresses from lo to hi, without those that have none.
func functions(t *testing.T, unit dwarf.Sections, lo, hi uint64) map[uint64][]string {
	t.Helper()
	var addrs []uint64
	for a := lo; a < hi; a++ {
		addrs = append(addrs, a)
	}
	names := map[uint64][]string{}
	require.NoError(t, dwarf.New(unit, dwarf.Options{}).Lookup(addrs, func(addr uint64, frames []dwarf.Answer) {
		for _, f := range frames {
			names[addr] = append(names[addr], f.Name)
		}
	}))
	return names
}

func TestPackage(t *testing.T) {
	start := map[string]uint64{"f": 100, "g": 200}
	for _, version := range []uint32{2, 5} {
		sec, index := packaged(version)
		p, err := Open(index, sec)
		require.NoError(t, err)
		for id, want := range map[uint64]string{8: "f", 1<<32 | 16: "g"} {
			unit, ok, err := p.Unit(id)
			require.NoError(t, err)
			require.True(t, ok)
			got := functions(t, unit, 90, 300)
			require.Len(t, got, 10)
			for a := start[want]; a < start[want]+10; a++ {
				require.Equal(t, []string{want}, got[a])
			}
		}
		_, ok, err := p.Unit(0)
		require.NoError(t, err)
		require.False(t, ok)
	}
}

// TestMacrosOfVersion2AreNotRanges: number 8 is .debug_macro in version 2 and .debug_rnglists in
// DWARF 5.
func TestMacrosOfVersion2AreNotRanges(t *testing.T) {
	for version, want := range map[uint32]int{2: 0, 5: 4} {
		index := packageIndex(version, []uint32{8}, []uint64{1}, [2]uint32{0, 4})
		p, err := Open(index, dwarf.Sections{RngLists: make([]byte, 4)})
		require.NoError(t, err)
		unit, ok, err := p.Unit(1)
		require.NoError(t, err)
		require.True(t, ok)
		require.Len(t, unit.RngLists, want)
	}
}

func TestMalformedPackages(t *testing.T) {
	sec, good := packaged(5)
	edited := func(at int, to byte) dwarftest.Bytes {
		b := append(dwarftest.Bytes{}, good...)
		b[at] = to
		return b
	}
	rows := 16 + 8*8
	for name, c := range map[string]struct {
		index dwarftest.Bytes
		msg   string
	}{
		"empty":      {nil, ".debug_cu_index+0x0: a header needs 16 bytes"},
		"version":    {edited(0, 3), ".debug_cu_index+0x0: version 3 is not supported"},
		"truncated":  {good[:len(good)-1], "do not fit into"},
		"many slots": {edited(15, 0xff), "do not fit into"},
		"many units": {edited(11, 0xff), "do not fit into"},
		"row 3 of 2": {edited(rows, 3), ".debug_cu_index+0x50: row 3 of 2"},
	} {
		_, err := Open(c.index, sec)
		require.ErrorContains(t, err, c.msg, name)
	}
	offsets := rows + 4*8 + 4*2
	p, err := Open(edited(offsets, 0xff), sec)
	require.NoError(t, err)
	_, _, err = p.Unit(8)
	require.ErrorContains(t, err, ".debug_cu_index+0x78: [0xff, ")
}

// TestOverlappingPartsAreLimited: a thousand units have the same megabyte as their part.
func TestOverlappingPartsAreLimited(t *testing.T) {
	const units, size = 1000, 1 << 20
	b := dwarftest.Bytes{}.U32(5).U32(1).U32(units).U32(units)
	for id := range uint64(units) {
		b = b.U64(id)
	}
	for row := range uint32(units) {
		b = b.U32(row + 1)
	}
	b = b.U32(uint32(partInfo))
	for _, v := range []uint32{0, size} {
		for range units {
			b = b.U32(v)
		}
	}
	p, err := Open(b, dwarf.Sections{Info: make([]byte, size)})
	require.NoError(t, err)
	read := 0
	for id := range uint64(units) {
		if _, _, err = p.Unit(id); err != nil {
			break
		}
		read++
	}
	require.ErrorContains(t, err, "overlap")
	require.LessOrEqual(t, read, maxReads+1)
}

// requireLawful looks up addresses. It requires that an error is a FormatError with a section, that
// no line is negative, and that all but the last frame of an address are inlined.
func requireLawful(t *testing.T, unit dwarf.Sections) {
	t.Helper()
	answered := map[uint64]bool{}
	addrs := []uint64{0, 1, 100, 125, 0x1000, 0x1008, 0x1010, 0x2000, 1 << 40, ^uint64(0)}
	err := dwarf.New(unit, dwarf.Options{}).Lookup(addrs, func(a uint64, frames []dwarf.Answer) {
		require.False(t, answered[a], "0x%x was answered twice", a)
		answered[a] = true
		require.NotEmpty(t, frames)
		for i, f := range frames {
			require.GreaterOrEqual(t, f.Line, 0)
			require.Equal(t, i < len(frames)-1, f.Inlined)
			require.True(t, strings.HasSuffix(f.QualifiedName(), f.Name))
		}
	})
	if err != nil {
		var fault *dwarf.FormatError
		require.ErrorAs(t, err, &fault)
		require.NotEmpty(t, fault.Section)
	}
}

// FuzzPackage reads an index and units of any bytes.
func FuzzPackage(f *testing.F) {
	for _, version := range []uint32{2, 5} {
		sec, index := packaged(version)
		f.Add([]byte(index), sec.Info)
	}
	f.Fuzz(func(t *testing.T, index, info []byte) {
		p, err := Open(index, dwarf.Sections{Info: info, Abbrev: append(dwarftest.Abbrevs(), dwarftest.Abbrevs()...)})
		if err != nil {
			require.ErrorContains(t, err, IndexSection+"+0x")
			return
		}
		require.LessOrEqual(t, len(p.rows), len(index)/12)
		for id := range p.rows {
			unit, _, err := p.Unit(id)
			if err != nil {
				require.ErrorContains(t, err, IndexSection+"+0x")
				continue
			}
			requireLawful(t, unit)
		}
	})
}
