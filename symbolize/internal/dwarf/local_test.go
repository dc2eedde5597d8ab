package dwarf

import (
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/location"
	"github.com/stretchr/testify/require"
)

// locals returns a unit with a function at 0x1000, whose parameter has a location list, with variables in a block, and
// with some that have places of other kinds.
func locals(version uint16) Sections {
	name := dwarftest.Attr(encoding.AttrName, encoding.FormString)
	place := dwarftest.Attr(encoding.AttrLocation, encoding.FormExprloc)
	abbrev := dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true,
			dwarftest.LowSize(dwarftest.Attr(encoding.AttrStmtList, encoding.FormSecOffset))...).
		Abbreviation(2, encoding.TagSubprogram, true,
			dwarftest.LowSize(name, dwarftest.Attr(encoding.AttrFrameBase, encoding.FormExprloc))...).
		Abbreviation(3, encoding.TagLexicalBlock, true, dwarftest.LowSize()...).
		Abbreviation(4, encoding.TagVariable, false, name, dwarftest.Attr(encoding.AttrType, encoding.FormRef4),
			dwarftest.Attr(encoding.AttrDeclFile, encoding.FormData1), dwarftest.Attr(encoding.AttrDeclLine, encoding.FormData1),
			place).
		Abbreviation(5, encoding.TagParameter, false, name, dwarftest.Attr(encoding.AttrType, encoding.FormRef4),
			dwarftest.Attr(encoding.AttrDeclFile, encoding.FormData1), dwarftest.Attr(encoding.AttrDeclLine, encoding.FormData1),
			dwarftest.Attr(encoding.AttrLocation, encoding.FormSecOffset)).
		Abbreviation(6, encoding.TagBase, false, name).
		Uleb(0)
	header := uint32(0)
	if version == 5 {
		header = 1 // the kind of the unit
	}
	b := dwarftest.Bytes{}.Uleb(1).U64(0x1000, 0x100).U32(0)
	number := b.At() + header
	b = b.Uleb(6).Str("int")
	b = b.Uleb(2).U64(0x1000, 0x100).Str("run").Uleb(1).U8(location.OpCallFrameCFA)
	b = b.Uleb(5).Str("given").U32(number).U8(1, 9).U32(0)
	b = b.Uleb(3).U64(0x1000, 0x20)
	b = b.Uleb(4).Str("inner").U32(number).U8(1, 1).Uleb(2).U8(location.OpFbreg, 0x70) // -16
	b = b.Uleb(4).Str("late").U32(number).U8(1, 9).Uleb(2).U8(location.OpFbreg, 0x68)
	b = b.End()
	b = b.Uleb(4).Str("pieces").U32(number).U8(1, 1).Uleb(13).
		U8(location.OpReg0, location.OpPiece, 8, location.OpFbreg, 0x60, location.OpPiece, 8).
		U8(location.OpPiece, 4, location.OpBreg0+7, 8, location.OpPiece, 4)
	b = b.Uleb(4).Str("value").U32(number).U8(1, 1).Uleb(3).U8(location.OpFbreg, 0x60, location.OpStackValue)
	b = b.Uleb(4).Str("register").U32(number).U8(1, 1).Uleb(1).U8(location.OpReg0 + 3).End().End()
	s := Sections{Info: dwarftest.Unit4(b), Abbrev: abbrev, Line: lineProgram4(4, sequence(0x1000, 0x100))}
	if version == 5 {
		s.Info = append(dwarftest.Bytes{}.U32(uint32(len(b)+8)).U16(5).U8(unitCompile, 8).U32(0), b...)
		s.Line = lineProgram5(sequence(0x1000, 0x100))
	}
	return s
}

// lists are location lists: the place is at frame base - 8 from 0x1000 to 0x1010, then in a register.
var (
	oldList = []byte(dwarftest.Bytes{}.U64(^uint64(0), 0x1000, 0, 0x10).U16(2).U8(location.OpFbreg, 0x78).
		U64(0x10, 0x100).U16(1).U8(location.OpReg0).U64(0, 0))
	newList = []byte(dwarftest.Bytes{}.U8(9, 0, 0).U8(4).Uleb(0, 0x10, 2).U8(location.OpFbreg, 0x78).
		U8(7).U64(0x1010, 0x1100).Uleb(1).U8(location.OpReg0).U8(0))
)

func TestLocals(t *testing.T) {
	for version, lists := range map[uint16]Sections{4: {Loc: oldList}, 5: {LocLists: newList}} {
		s := locals(version)
		s.Loc, s.LocLists = lists.Loc, lists.LocLists
		frame := location.Frame{CFA: 0x7000, Registers: map[uint64]uint64{7: 0x6f00}}
		d := New(s, Options{Variables: true})
		require.Empty(t, d.Faults)
		parts := func(pc uint64) map[string][]location.Part {
			list, err := d.Locals(pc)
			require.NoError(t, err)
			got := map[string][]location.Part{}
			for _, l := range list {
				require.Equal(t, "run", l.Function)
				require.Equal(t, "run", l.QualifiedFunction())
				require.Equal(t, l.Name == "given", l.Parameter)
				got[l.Name] = l.Parts(frame)
			}
			return got
		}
		require.Equal(t, map[string][]location.Part{
			"given": {{Address: 0x6ff8}}, "inner": {{Address: 0x6ff0}}, "value": nil, "register": nil,
			"pieces": {{Offset: 8, Size: 8, Address: 0x6fe0}, {Offset: 20, Size: 4, Address: 0x6f08}},
		}, parts(0x1000), "late is defined behind the address")
		require.Equal(t, map[string][]location.Part{
			"given": nil, "value": nil, "register": nil,
			"pieces": {{Offset: 8, Size: 8, Address: 0x6fe0}, {Offset: 20, Size: 4, Address: 0x6f08}},
		}, parts(0x1030), "inner is in a block that has ended")
		require.Empty(t, parts(0x1100))
		frame.Registers = nil
		require.Equal(t, []location.Part{{Offset: 8, Size: 8, Address: 0x6fe0}}, parts(0x1000)["pieces"], "the register is not known")
	}
}

// TestFoldedLocals has two functions at an address: it is not known which one runs.
func TestFoldedLocals(t *testing.T) {
	s := locals(4)
	s.Loc = oldList
	one := New(s, Options{Variables: true})
	list, err := one.Locals(0x1000)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	body := s.Info[11+1+8+8+4 : len(s.Info)-1]
	twice := append(append([]byte{}, s.Info[:len(s.Info)-1]...), body...)
	s.Info = append(dwarftest.Bytes{}.U32(uint32(len(twice)+1-4)), append(twice[4:], 0)...)
	list, err = New(s, Options{Variables: true}).Locals(0x1000)
	require.NoError(t, err)
	require.Empty(t, list)
}

// FuzzLocals reads hostile entries and location lists. The work is limited.
func FuzzLocals(f *testing.F) {
	for version, list := range map[uint16][]byte{4: oldList, 5: newList} {
		s := locals(version)
		f.Add(s.Info, s.Abbrev, list)
	}
	f.Add([]byte{}, []byte{}, []byte{1, 0, 6})
	line := lineProgram4(4, sequence(0x1000, 0x100))
	f.Fuzz(func(t *testing.T, info, abbrev, list []byte) {
		d := New(Sections{Info: info, Abbrev: abbrev, Line: line, Loc: list, LocLists: list}, Options{Variables: true})
		found, _ := d.Locals(0x1000)
		require.LessOrEqual(t, len(found), maxLocals)
	})
}
