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
	err := d.Lookup([]uint64{0, 1, 100, 125, 0x1000, 0x1008, 0x1010, 0x2000, 1 << 40, ^uint64(0)}, func(a uint64, frames []Answer) {
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

// variables returns a unit with a variable at 0x1000, which is a const pointer to itself.
func variables() (info, abbrev []byte) {
	abbrev = dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true).
		Abbreviation(2, encoding.TagVariable, false, dwarftest.Attr(encoding.AttrType, encoding.FormRef4),
			dwarftest.Attr(encoding.AttrDeclLine, encoding.FormData1), dwarftest.Attr(encoding.AttrLocation, encoding.FormExprloc)).
		Abbreviation(3, encoding.TagConst, false, dwarftest.Attr(encoding.AttrType, encoding.FormRef4)).
		Abbreviation(4, encoding.TagPointer, false, dwarftest.Attr(encoding.AttrType, encoding.FormRef4)).
		Abbreviation(5, encoding.TagBase, false, dwarftest.Attr(encoding.AttrName, encoding.FormString)).
		Abbreviation(6, encoding.TagVariable, false, dwarftest.Attr(encoding.AttrSpecification, encoding.FormRef4),
			dwarftest.Attr(encoding.AttrLocation, encoding.FormBlock1)).
		Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1)
	constant := b.At()
	b = b.Uleb(3).U32(constant + 5)
	b = b.Uleb(4).U32(constant + 10)
	b = b.Uleb(5).Str("int")
	loop := b.At()
	b = b.Uleb(4).U32(loop)
	declaration := b.At()
	b = b.Uleb(2).U32(constant).U8(7).Uleb(9).U8(3).U64(0x1000)
	b = b.Uleb(2).U32(loop).U8(8).Uleb(9).U8(3).U64(0x2000)
	b = b.Uleb(2).U32(constant).U8(9).Uleb(10).U8(3).U64(0x3000).U8(0xe0) // thread-local
	b = b.Uleb(6).U32(declaration).U8(9).U8(3).U64(0x4000)
	return dwarftest.Unit4(b.End()), abbrev
}

func TestVariables(t *testing.T) {
	info, abbrev := variables()
	got := map[uint64]Variable{}
	err := New(Sections{Info: info, Abbrev: abbrev}, Options{Variables: true}).Variables(
		[]uint64{0x1000, 0x2000, 0x3000, 0x4000}, func(a uint64, v Variable) { v.Ref = 0; got[a] = v })
	require.NoError(t, err)
	require.Equal(t, map[uint64]Variable{
		0x1000: {Type: "const int *", Line: 7}, 0x2000: {Line: 8}, 0x4000: {Type: "const int *", Line: 7},
	}, got)
}

// structures returns a unit with a variable at 0x1000, which has members of every kind.
func structures() (info, abbrev []byte) {
	name := dwarftest.Attr(encoding.AttrName, encoding.FormString)
	typ := dwarftest.Attr(encoding.AttrType, encoding.FormRef4)
	at := dwarftest.Attr(encoding.AttrMemberLocation, encoding.FormUdata)
	size := dwarftest.Attr(encoding.AttrByteSize, encoding.FormUdata)
	abbrev = dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true).
		Abbreviation(2, encoding.TagVariable, false, typ, dwarftest.Attr(encoding.AttrLocation, encoding.FormExprloc)).
		Abbreviation(3, encoding.TagStruct, true, name, size).
		Abbreviation(4, encoding.TagMember, false, name, typ, at).
		Abbreviation(5, encoding.TagBase, false, name, size).
		Abbreviation(6, encoding.TagInheritance, false, typ, dwarftest.Attr(encoding.AttrMemberLocation, encoding.FormExprloc)).
		Abbreviation(7, encoding.TagArray, true, typ).
		Abbreviation(8, encoding.TagSubrange, false, dwarftest.Attr(encoding.AttrUpperBound, encoding.FormData1)).
		Abbreviation(9, encoding.TagVariantPart, true).
		Abbreviation(10, encoding.TagVariant, true).
		Abbreviation(11, encoding.TagTypeParameter, false, typ).
		Abbreviation(12, encoding.TagMember, false, name, typ, dwarftest.Attr(encoding.AttrDeclaration, encoding.FormFlagPresent)).
		Abbreviation(13, encoding.TagStruct, false, name, dwarftest.Attr(encoding.AttrDeclaration, encoding.FormFlagPresent)).
		Abbreviation(14, encoding.TagStruct, false, dwarftest.Attr(encoding.AttrSignature, encoding.FormRefSig8)).
		Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1)
	number := b.At()
	b = b.Uleb(5).Str("int").Uleb(4)
	array := b.At()
	b = b.Uleb(7).U32(number).Uleb(8).U8(9).End()
	whole := b.At()
	b = b.Uleb(3).Str("whole").Uleb(64)
	b = b.Uleb(6).U32(number).Uleb(2).U8(0x23, 8)       // at 8
	b = b.Uleb(6).U32(number).Uleb(3).U8(0x12, 0x23, 8) // a virtual base class
	b = b.Uleb(4).Str("list").U32(array).Uleb(16)       // at 16
	b = b.Uleb(12).Str("shared").U32(number)            // static
	b = b.Uleb(3).Str("inner").Uleb(8).Uleb(4).Str("no").U32(number).Uleb(0).End()
	b = b.Uleb(9).Uleb(10).Uleb(4).Str("some").U32(whole).Uleb(32).End().End()
	b = b.Uleb(11).U32(whole).Uleb(4).Str("last").U32(whole).Uleb(40).End()
	b = b.Uleb(13).Str("whole").Uleb(14).U64(77)
	b = b.Uleb(2).U32(whole).Uleb(9).U8(3).U64(0x1000)
	return dwarftest.Unit4(b.End()), abbrev
}

func TestType(t *testing.T) {
	info, abbrev := structures()
	d := New(Sections{Info: info, Abbrev: abbrev}, Options{Variables: true})
	var ref TypeRef
	require.NoError(t, d.Variables([]uint64{0x1000}, func(_ uint64, v Variable) { ref = v.Ref }))
	whole := d.Type(ref)
	array, number := whole.Members[1].Type, whole.Members[0].Type
	require.Equal(t, Type{
		Kind: Struct, Name: "whole", Size: 64, Params: []TypeRef{ref}, Members: []Member{
			{Offset: 8, Type: number, Base: true}, {Name: "list", Offset: 16, Type: array},
			{Name: "some", Offset: 32, Type: ref, Variant: true}, {Name: "last", Offset: 40, Type: ref},
		},
	}, whole)
	require.Equal(t, Type{Kind: Array, Name: "int []", Elem: number, Counts: []uint64{10}}, d.Type(array))
	require.Equal(t, Type{Kind: Base, Name: "int", Size: 4}, d.Type(number))
	found, ok := d.Definition("whole", "")
	require.True(t, ok)
	require.Equal(t, ref, found)
	_, ok = d.Definition("missing", "")
	require.False(t, ok)
	require.Zero(t, d.Type(0))
	require.Zero(t, d.Type(1<<63|5), "no such part")
}

// requireTypes reads a type and all that it leads to, up to a limit.
func requireTypes(t *testing.T, d *Data, ref TypeRef) {
	t.Helper()
	seen, queue := map[TypeRef]bool{}, []TypeRef{ref}
	for len(queue) > 0 && len(seen) < 100 {
		ref, queue = queue[0], queue[1:]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		got := d.Type(ref)
		require.LessOrEqual(t, len(got.Members), maxMembers)
		queue = append(append(queue, got.Elem), got.Params...)
		for _, m := range got.Members {
			queue = append(queue, m.Type)
		}
		if found, ok := d.Definition(got.Name, ""); ok {
			require.Equal(t, canonical(got.Name), canonical(d.Type(found).Name))
		}
	}
}

// FuzzVariables: an error is a FormatError, and no line is negative. Reading the types ends.
func FuzzVariables(f *testing.F) {
	info, abbrev := variables()
	f.Add(info, abbrev)
	info, abbrev = structures()
	f.Add(info, abbrev)
	f.Add(dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 200).End()), dwarftest.Abbrevs())
	line := lineProgram4(4, sequence(0x1000, 0x10))
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		alt := New(Sections{Info: info, Abbrev: abbrev}, Options{Variables: true})
		d := New(Sections{
			Info: info, Types: info, Abbrev: abbrev, Line: line, Addr: dwarftest.Bytes{}.U64(0x1000, 0x2000),
		}, Options{Variables: true, Alt: alt})
		var refs []TypeRef
		err := d.Variables([]uint64{0, 0x1000, 0x2000, 0x4000}, func(_ uint64, v Variable) {
			require.GreaterOrEqual(t, v.Line, 0)
			refs = append(refs, v.Ref)
		})
		for _, ref := range refs[:min(len(refs), 4)] {
			requireTypes(t, d, ref)
		}
		if err != nil {
			var fault *FormatError
			require.True(t, errors.As(err, &fault), "%T", err)
		}
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
