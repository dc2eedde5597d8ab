package dwarf

import (
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/stretchr/testify/require"
)

// arangesSet returns a set of .debug_aranges: pairs of address and length of the unit at an offset.
func arangesSet(unit uint32, pairs ...uint64) dwarftest.Bytes {
	b := dwarftest.Bytes{}.U16(2).U32(unit).U8(8, 0, 0, 0, 0, 0).U64(pairs...).U64(0, 0)
	return append(dwarftest.Bytes{}.U32(uint32(len(b))), b...)
}

// unit2 changes the version of a unit from 4 to 2.
func unit2(info []byte) []byte {
	info[4] = 2
	return info
}

// TestArangesOfDWARF2: the root entry has the range [100, 110); only .debug_aranges has the
// function at 200.
func TestArangesOfDWARF2(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 10).Function("f", 100, 10).End().Function("cold", 200, 10).End().End()
	for version, want := range map[byte][]string{2: {"cold"}, 4: nil} {
		info := dwarftest.Unit4(b)
		info[4] = version
		d := New(Sections{Info: info, Abbrev: dwarftest.Abbrevs(), Aranges: arangesSet(0, 100, 10, 200, 10)}, Options{})
		got, err := lookupAll(d, 205, 206)
		require.NoError(t, err)
		require.Equal(t, want, names(got[205]), "version %d", version)
	}
}

func TestMalformedAranges(t *testing.T) {
	info := unit2(dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 10).Function("f", 100, 10).End().End()))
	for msg, aranges := range map[string][]byte{
		"longer than its section": dwarftest.Bytes{}.U32(100),
		"unknown version":         dwarftest.Bytes{}.U32(8).U16(3).U32(0).U8(8, 0),
	} {
		d := New(Sections{Info: info, Abbrev: dwarftest.Abbrevs(), Aranges: aranges}, Options{})
		got, err := lookupAll(d, 100, 101)
		require.Equal(t, []string{"f"}, names(got[100]))
		require.ErrorContains(t, err, ".debug_aranges+0x0: ")
		require.ErrorContains(t, err, msg)
	}
}

// FuzzAranges reads any bytes as .debug_aranges of a valid unit.
func FuzzAranges(f *testing.F) {
	f.Add([]byte(arangesSet(0, 100, 10, 200, 10)))
	f.Add([]byte(dwarftest.Bytes{}.U32(0xffffffff).U64(20).U16(2)))
	info := unit2(dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 10).Function("f", 100, 10).End().End()))
	f.Fuzz(func(t *testing.T, aranges []byte) {
		d := New(Sections{Info: info, Abbrev: dwarftest.Abbrevs(), Aranges: aranges}, Options{})
		require.LessOrEqual(t, len(d.units[0].ranges), 1+len(aranges)/16)
		requireLawful(t, d)
	})
}
