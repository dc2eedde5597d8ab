package dwarf

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireLawful: an error is a FormatError, which names a section; a frame's line is never negative, and all but the
// last frame of an address are inlined.
func requireLawful(t *testing.T, d *Data) {
	t.Helper()
	answered := map[uint64]bool{}
	err := d.Lookup([]uint64{0, 1, 100, 125, 0x1000, 0x1008, 0x1010, 0x2000, 1 << 40, ^uint64(0)}, func(a uint64, frames []Frame) {
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
		var fault *FormatError
		require.True(t, errors.As(err, &fault), "%T", err)
		require.NotEmpty(t, fault.Section)
	}
}

func FuzzDWARFInfo(f *testing.F) {
	b := bytesOf{}.unit(100, 200)
	inner := b.at()
	b = b.abstract("inner", 1).function("outer", 100, 100).inlined(inner, 110, 40, 7).end().end().end()
	f.Add(unit4(b), testAbbrevs())
	f.Add([]byte(bytesOf{}.u32(0xffffffff).u64(20).u16(5).u8(1, 8).u64(0).uleb(1)), testAbbrevs())
	f.Add(unitOf(5, nil), testAbbrevs())
	cxxInfo, cxxAbbrev := scoped(4)
	f.Add(cxxInfo, cxxAbbrev)
	sections := Sections{
		Line: lineProgram4(4, sequence(0x1000, 0x10)), Str: []byte("name\x00"), LineStr: []byte("file\x00"),
		StrOffsets: bytesOf{}.u64(0, 0), Addr: bytesOf{}.u64(0x1000, 0x2000), Ranges: bytesOf{}.u64(100, 200, 0, 0),
		RngLists: bytesOf{7}.u64(100).uleb(50).u8(0),
	}
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		s := sections
		s.Info, s.Abbrev = info, abbrev
		alt := New(s, Options{})
		requireLawful(t, New(s, Options{Alt: alt, Split: func(string, string, uint64) *Data { return alt }}))
	})
}

func FuzzLine(f *testing.F) {
	f.Add(lineProgram4(2, sequence(0x1000, 0x10)), true)
	f.Add(lineProgram4(4, randomProgram(rand.New(rand.NewPCG(1, 1)))), true)
	f.Add(lineProgram5(randomProgram(rand.New(rand.NewPCG(2, 2)))), false)
	f.Fuzz(func(t *testing.T, line []byte, old bool) {
		version := uint16(5)
		if old {
			version = 4
		}
		requireLawful(t, New(Sections{Info: unitOf(version, line), Abbrev: testAbbrevs(), Line: line}, Options{}))
	})
}

// FuzzAbbrev: a table is either refused, or all its codes up to the number of its bytes can be asked for, and
// entries end within their unit.
func FuzzAbbrev(f *testing.F) {
	f.Add(testAbbrevs(), []byte("unit.c\x00"))
	f.Add([]byte(bytesOf{}.abbreviation(1, tagSubprogram, false, uint64(attrName), uint64(formIndirect)).uleb(0)), []byte{0x16, 0x16, 0x16, 0x16, 0x16})
	f.Fuzz(func(t *testing.T, section, entry []byte) {
		for _, s := range []unitShape{{2, 4, false}, {5, 8, true}} {
			table, err := parseAbbrevs(section, 0, s)
			if err != nil {
				require.Nil(t, table)
				continue
			}
			require.LessOrEqual(t, table.size, uint64(len(section)))
			for code := range uint64(len(section)) {
				a := table.get(code)
				if a == nil {
					continue
				}
				u := &unit{unitShape: s, data: &Data{}}
				c := cursor{b: entry}
				u.skipEntry(&c, a)
				require.LessOrEqual(t, c.off, uint64(len(entry)))
			}
		}
	})
}

// FuzzRanges: whatever a list holds, its ranges are not empty and not those of dropped code.
func FuzzRanges(f *testing.F) {
	f.Add([]byte(bytesOf{}.u64(0x10, 0x20, ^uint64(0), 0x5000, 1, 9, 0, 0)), uint64(0), true)
	f.Add([]byte(bytesOf{1, 1, 4, 1, 2, 7}.u64(0x10).uleb(1).u8(0)), uint64(0), false)
	f.Add([]byte(bytesOf{}.u32(4).u8(3, 0, 9, 0)), uint64(0), false)
	f.Fuzz(func(t *testing.T, list []byte, off uint64, old bool) {
		u := unitWith(5, Sections{RngLists: list, Addr: bytesOf{}.u64(0x2000, 0, 1, ^uint64(0))})
		if old {
			u = unitWith(4, Sections{Ranges: list})
		}
		for _, form := range []form{formSecOffset, formRnglistx} {
			got := u.rangesOf(&entry{ranges: value{form, off}})
			require.LessOrEqual(t, len(got), len(list)+1)
			for _, r := range got {
				require.Less(t, r.Lo, r.Hi)
				require.Greater(t, r.Lo, uint64(1))
			}
		}
	})
}
