package dwarf

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

// requireLawful looks up addresses. It requires that an error is a FormatError with a section, that
// no line is negative, and that all but the last frame of an address are inlined.
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
	b := dwarftest.Bytes{}.Unit(100, 200)
	inner := b.At()
	b = b.Abstract("inner", 1).Function("outer", 100, 100).Inlined(inner, 110, 40, 7).End().End().End()
	f.Add(dwarftest.Unit4(b), dwarftest.Abbrevs())
	f.Add([]byte(dwarftest.Bytes{}.U32(0xffffffff).U64(20).U16(5).U8(1, 8).U64(0).Uleb(1)), dwarftest.Abbrevs())
	f.Add(unitOf(5, nil), dwarftest.Abbrevs())
	cxxInfo, cxxAbbrev := scoped(4)
	f.Add(cxxInfo, cxxAbbrev)
	sections := Sections{
		Line: lineProgram4(4, sequence(0x1000, 0x10)), Str: []byte("name\x00"), LineStr: []byte("file\x00"),
		StrOffsets: dwarftest.Bytes{}.U64(0, 0), Addr: dwarftest.Bytes{}.U64(0x1000, 0x2000), Ranges: dwarftest.Bytes{}.U64(100, 200, 0, 0),
		RngLists: dwarftest.Bytes{7}.U64(100).Uleb(50).U8(0),
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
		requireLawful(t, New(Sections{Info: unitOf(version, line), Abbrev: dwarftest.Abbrevs(), Line: line}, Options{}))
	})
}

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
			got := u.rangesOf(&encoding.Entry{Ranges: value(form, off)})
			require.LessOrEqual(t, len(got), len(list)+1)
			for _, r := range got {
				require.Less(t, r.Lo, r.Hi)
				require.Greater(t, r.Lo, uint64(1))
			}
		}
	})
}
