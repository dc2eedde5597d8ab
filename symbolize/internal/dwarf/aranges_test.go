package dwarf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// arangesSet is the addresses and lengths of the unit at an offset.
func arangesSet(unit uint32, pairs ...uint64) bytesOf {
	b := bytesOf{}.u16(2).u32(unit).u8(8, 0, 0, 0, 0, 0).u64(pairs...).u64(0, 0)
	return append(bytesOf{}.u32(uint32(len(b))), b...)
}

// unit2 makes a unit of DWARF 2 of one of version 4.
func unit2(info []byte) []byte {
	info[4] = 2
	return info
}

// TestArangesOfDWARF2: the unit's own range is [100, 110); the function at 200 is found by .debug_aranges.
func TestArangesOfDWARF2(t *testing.T) {
	b := bytesOf{}.unit(100, 10).function("f", 100, 10).end().function("cold", 200, 10).end().end()
	for version, want := range map[byte][]string{2: {"cold"}, 4: nil} {
		info := unit4(b)
		info[4] = version
		d := New(Sections{Info: info, Abbrev: testAbbrevs(), Aranges: arangesSet(0, 100, 10, 200, 10)}, Options{})
		got, err := lookupAll(d, 205, 206)
		require.NoError(t, err)
		require.Equal(t, want, names(got[205]), "version %d", version)
	}
}

func TestMalformedAranges(t *testing.T) {
	info := unit2(unit4(bytesOf{}.unit(100, 10).function("f", 100, 10).end().end()))
	for msg, aranges := range map[string][]byte{
		"longer than its section": bytesOf{}.u32(100),
		"unknown version":         bytesOf{}.u32(8).u16(3).u32(0).u8(8, 0),
	} {
		d := New(Sections{Info: info, Abbrev: testAbbrevs(), Aranges: aranges}, Options{})
		got, err := lookupAll(d, 100, 101)
		require.Equal(t, []string{"f"}, names(got[100]))
		require.ErrorContains(t, err, ".debug_aranges+0x0: ")
		require.ErrorContains(t, err, msg)
	}
}

// FuzzAranges: any bytes; faults name the section, and the units keep their functions.
func FuzzAranges(f *testing.F) {
	f.Add([]byte(arangesSet(0, 100, 10, 200, 10)))
	f.Add([]byte(bytesOf{}.u32(0xffffffff).u64(20).u16(2)))
	info := unit2(unit4(bytesOf{}.unit(100, 10).function("f", 100, 10).end().end()))
	f.Fuzz(func(t *testing.T, aranges []byte) {
		d := New(Sections{Info: info, Abbrev: testAbbrevs(), Aranges: aranges}, Options{})
		require.LessOrEqual(t, len(d.units[0].ranges), 1+len(aranges)/16)
		requireLawful(t, d)
	})
}
