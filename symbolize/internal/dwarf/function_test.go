package dwarf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

// lookupAll looks up all addresses in [lo, hi).
func lookupAll(d *Data, lo, hi uint64) (map[uint64][]Answer, error) {
	var addrs []uint64
	for a := lo; a < hi; a++ {
		addrs = append(addrs, a)
	}
	out := map[uint64][]Answer{}
	err := d.Lookup(addrs, func(a uint64, frames []Answer) { out[a] = slices.Clone(frames) })
	return out, err
}

// names returns the functions of frames, innermost first.
func names(frames []Answer) []string {
	var out []string
	for _, f := range frames {
		out = append(out, f.Name)
	}
	return out
}

func lookupInfo(t *testing.T, info []byte, lo, hi uint64) map[uint64][]Answer {
	t.Helper()
	got, err := lookupAll(New(Sections{Info: info, Abbrev: dwarftest.Abbrevs()}, Options{}), lo, hi)
	require.NoError(t, err)
	return got
}

// TestNestedInlinedCalls: middle [110,150) is inlined into outer [100,200), and inner [120,130)
// into middle.
func TestNestedInlinedCalls(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200)
	inner := b.At()
	b = b.Abstract("inner", 1)
	middle := b.At()
	b = b.Abstract("middle", 2)
	b = b.Function("outer", 100, 100).Inlined(middle, 110, 40, 7).Inlined(inner, 120, 10, 8).End().End().
		Inlined(inner, 160, 10, 9).End().End().
		Function("next", 200, 10).End().End()
	got := lookupInfo(t, dwarftest.Unit4(b), 90, 220)
	for a := uint64(90); a < 220; a++ {
		var want []string
		switch {
		case a >= 120 && a < 130:
			want = []string{"inner", "middle", "outer"}
		case a >= 110 && a < 150:
			want = []string{"middle", "outer"}
		case a >= 160 && a < 170:
			want = []string{"inner", "outer"}
		case a >= 100 && a < 200:
			want = []string{"outer"}
		case a >= 200 && a < 210:
			want = []string{"next"}
		}
		require.Equal(t, want, names(got[a]), "address %d", a)
		for i, f := range got[a] {
			require.Equal(t, i < len(got[a])-1, f.Inlined, "all but the last are inlined")
		}
	}
	require.Equal(t, 1, got[120][0].StartLine)
}

// TestFunctionsWithinSkippedTypes: the first walk skips types by their sibling attribute, the
// second walk enters them.
func TestFunctionsWithinSkippedTypes(t *testing.T) {
	class := func(sibling uint32) dwarftest.Bytes {
		return dwarftest.Bytes{}.Unit(100, 200).Uleb(dwarftest.CodeSkipped).U32(sibling).Str("Class").Function("method", 160, 20).End().End()
	}
	sibling := class(0).At()
	got := lookupInfo(t, dwarftest.Unit4(class(sibling).Function("f", 100, 10).End().End()), 100, 200)
	require.Equal(t, []string{"f"}, names(got[105]))
	require.Equal(t, []string{"method"}, names(got[165]))
}

// TestOverlappingInlinedSiblings: the last entry wins, and the depth does not change. Only
// malformed input has them.
func TestOverlappingInlinedSiblings(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200)
	first := b.At()
	b = b.Abstract("first", 1)
	second := b.At()
	b = b.Abstract("second", 2)
	b = b.Function("f", 100, 100).Inlined(first, 110, 20, 7).End().Inlined(second, 120, 20, 8).End().End().End()
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 150)
	require.Equal(t, []string{"first", "f"}, names(got[119]))
	require.Equal(t, []string{"second", "f"}, names(got[125]))
}

// TestInlinedCallsWithoutRanges: middle has several ranges, which DWARF 2 cannot describe, and
// inner, which is inlined into middle, has one.
func TestInlinedCallsWithoutRanges(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200)
	inner := b.At()
	b = b.Abstract("inner", 1)
	middle := b.At()
	b = b.Abstract("middle", 2)
	b = b.Function("outer", 100, 100).Inlined(middle, 0, 0, 7).Inlined(inner, 120, 10, 8).End().End().End().End()
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 200)
	require.Equal(t, []string{"outer"}, names(got[119]))
	require.Equal(t, []string{"inner", "middle", "outer"}, names(got[120]))
}

// TestInlinedCallsOutsideOfTheirParent: Go before 1.20 writes inner [140,150) into middle [120,130).
func TestInlinedCallsOutsideOfTheirParent(t *testing.T) {
	b := dwarftest.Bytes{}.Uleb(dwarftest.CodeLanguage).U8(languageGo).U64(100, 200)
	inner := b.At()
	b = b.Abstract("inner", 1)
	middle := b.At()
	b = b.Abstract("middle", 2)
	b = b.Function("outer", 100, 100).Inlined(middle, 120, 10, 7).Inlined(inner, 140, 10, 8).End().End().End().End()
	for _, span := range [][2]uint64{{100, 200}, {145, 146}} { // together with middle's addresses, and without
		got := lookupInfo(t, dwarftest.Unit4(b), span[0], span[1])
		require.Equal(t, []string{"inner", "middle", "outer"}, names(got[145]))
	}
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 200)
	require.Equal(t, []string{"middle", "outer"}, names(got[125]))
	require.Equal(t, []string{"outer"}, names(got[135]))
}

// TestFunctionsWithinTypes: a local class without a sibling attribute.
func TestFunctionsWithinTypes(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200).
		Function("outer", 100, 50).Uleb(dwarftest.CodeClass).Str("Local").Function("method", 160, 20).End().End().End().
		End()
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 200)
	require.Equal(t, []string{"outer"}, names(got[149]))
	require.Equal(t, []string{"method"}, names(got[160]))
	require.Empty(t, names(got[150]))
}

func TestNamesBySpecificationAndOrigin(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200)
	declared := b.At()
	b = b.Abstract("declared", 42)
	link := b.At()
	b = b.Uleb(dwarftest.CodeRef).U32(declared).U32(declared)
	b = b.Uleb(dwarftest.CodeConcrete).U32(link).U64(100, 10).End().
		Uleb(dwarftest.CodeSpecified).U32(declared).U64(110, 10).End().
		Uleb(dwarftest.CodeConcrete).U32(0xffffff).U64(120, 10).End().End()
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 130)
	for _, a := range []uint64{100, 110} {
		require.Equal(t, "declared", got[a][0].Name)
		require.Equal(t, 42, got[a][0].StartLine)
	}
	require.Equal(t, []string{""}, names(got[120]), "a reference past the end of the section")
}

// TestCircularReferences: the names of circular references, and of two references per entry, are
// empty.
func TestCircularReferences(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200)
	const links = 64
	first := b.At()
	const size = 1 + 4 + 4
	for i := range uint32(links) {
		next := first + (i+1)%links*size
		b = b.Uleb(dwarftest.CodeRef).U32(next).U32(next)
	}
	b = b.Uleb(dwarftest.CodeConcrete).U32(first).U64(100, 10).End().
		Uleb(dwarftest.CodeConcrete).U32(b.At()).U64(110, 10).End().End() // refers to itself
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 120)
	require.Equal(t, []string{""}, names(got[100]))
	require.Equal(t, []string{""}, names(got[110]))
}

func TestAddressesOutsideOfFunctions(t *testing.T) {
	got := lookupInfo(t, dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 100).Function("f", 120, 10).End().End()), 0, 300)
	require.Len(t, got, 10, "an address in a unit but in no function and no line has no answer")
}

func TestMalformedUnits(t *testing.T) {
	good := dwarftest.Unit4(dwarftest.Bytes{}.Unit(100, 100).Function("f", 100, 10).End().End())
	for name, c := range map[string]struct{ tail, msg string }{
		"longer than the section": {"\xff\xff\xff\x7f", "longer than its section"},
		"unknown version":         {"\x07\x00\x00\x00\x09\x00\x00\x00\x00\x00\x08", "unknown version"},
		"address size":            {"\x07\x00\x00\x00\x04\x00\x00\x00\x00\x00\x03", "address size"},
		"abbreviations elsewhere": {"\x08\x00\x00\x00\x04\x00\xff\xff\x00\x00\x08\x01", ".debug_abbrev"},
		"no such abbreviation":    {"\x08\x00\x00\x00\x04\x00\x00\x00\x00\x00\x08\x7f", "malformed root entry"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Sections{Info: append(good[:len(good):len(good)], c.tail...), Abbrev: dwarftest.Abbrevs()}, Options{})
			got, err := lookupAll(d, 100, 110)
			require.ErrorContains(t, err, c.msg)
			require.Equal(t, []string{"f"}, names(got[105]), "units before the malformed one are used")
			require.Regexp(t, `^\.debug_\w+\+0x[0-9a-f]+: `, err.Error(), "an error has section and offset")
		})
	}
}

// TestNestingIsLimited: entries that are nested too deep are an error.
func TestNestingIsLimited(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 100)
	for range maxDepth + 10 {
		b = b.Uleb(dwarftest.CodeClass).Str("")
	}
	_, err := lookupAll(New(Sections{Info: dwarftest.Unit4(b), Abbrev: dwarftest.Abbrevs()}, Options{}), 100, 101)
	require.ErrorContains(t, err, "nested too deep")
}

// TestOverlappingAbbreviationTablesAreLimited: the table of a unit may begin anywhere in a long
// table.
func TestOverlappingAbbreviationTablesAreLimited(t *testing.T) {
	abbrevs := dwarftest.Bytes{}
	for code := range uint64(20_000) {
		abbrevs = abbrevs.Abbreviation(code+1, encoding.TagCompileUnit, false)
	}
	var info dwarftest.Bytes
	for i := range uint32(5000) {
		// An abbreviation with a code below 128 has 5 bytes. The root entry uses the first one of
		// its table.
		info = append(info, dwarftest.Bytes{}.U32(8).U16(4).U32(i%100*5).U8(8).Uleb(uint64(i%100)+1)...)
	}
	d := New(Sections{Info: info, Abbrev: abbrevs.Uleb(0)}, Options{})
	require.NotEmpty(t, d.Faults)
	require.ErrorContains(t, d.Faults[0], "overlapping tables")
	require.Less(t, len(d.abbrevs), 20, "tables kept")
}

// TestSharedRangeListsAreLimited: thousands of entries that refer to one long list read it a few
// times.
func TestSharedRangeListsAreLimited(t *testing.T) {
	abbrevs := dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true, dwarftest.LowSize()...).
		Abbreviation(2, encoding.TagInlined, false, dwarftest.Attr(encoding.AttrRanges, encoding.FormSecOffset)).
		Abbreviation(3, encoding.TagSubprogram, true, dwarftest.LowSize()...).Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1).U64(0x1000, 0x100000)
	b = b.Uleb(3).U64(0x1000, 0x1000)
	const inlines, entries = 5000, 5000
	for range inlines {
		b = b.Uleb(2).U32(0)
	}
	var list dwarftest.Bytes
	for i := range uint64(entries) {
		list = list.U64(i*2+1, i*2+2)
	}
	d := New(Sections{Info: dwarftest.Unit4(b.End().End()), Abbrev: abbrevs, Ranges: list.U64(0, 0)}, Options{})
	_, err := lookupAll(d, 0x1001, 0x1002)
	require.ErrorContains(t, err, "too many entries share range lists")
	kept := 0
	d.renewBudget()
	table, _ := d.units[0].functions([]uint64{0x1001})
	for _, in := range table.found[0].inlines {
		kept += len(in.ranges)
	}
	require.NotZero(t, kept)
	require.LessOrEqual(t, kept, budgetFloor+budgetTimes*len(list)+entries, "the list that uses up the budget is read to its end")
}

// TestSharedNamesAreLimited: thousands of entries that refer to one long name read it a few times.
func TestSharedNamesAreLimited(t *testing.T) {
	abbrevs := dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true, dwarftest.LowSize()...).
		Abbreviation(2, encoding.TagInlined, false, dwarftest.LowSize(dwarftest.Attr(encoding.AttrLinkageName, encoding.FormStrp))...).
		Abbreviation(3, encoding.TagSubprogram, true, dwarftest.LowSize()...).Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1).U64(0x1000, 0x100000)
	b = b.Uleb(3).U64(0x1000, 0x1000)
	const inlines, long = 5000, 1 << 20
	for range inlines {
		b = b.Uleb(2).U64(0x1000, 0x1000).U32(0)
	}
	d := New(Sections{Info: dwarftest.Unit4(b.End().End()), Abbrev: abbrevs, Str: dwarftest.Bytes{}.Str(strings.Repeat("n", long))}, Options{})
	d.renewBudget()
	table, err := d.units[0].functions([]uint64{0x1001})
	require.ErrorIs(t, err, errSharedNames)
	kept := 0
	for _, in := range table.found[0].inlines {
		kept += len(in.name.linkage)
	}
	require.NotZero(t, kept)
	require.LessOrEqual(t, kept, namesFloor+budgetTimes*(len(b)+64+long)+2*long)
}

// TestDeepInlinedCallsAreLimited: thousands of nested calls at thousands of addresses do not result
// in millions of frames.
func TestDeepInlinedCallsAreLimited(t *testing.T) {
	abbrevs := dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true, dwarftest.LowSize()...).
		Abbreviation(2, encoding.TagInlined, true, dwarftest.LowSize()...).
		Abbreviation(3, encoding.TagSubprogram, true, dwarftest.LowSize()...).Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1).U64(0x1000, 0x100000)
	b = b.Uleb(3).U64(0x1000, 0x1000)
	const deep, wide = 4000, 2000
	for range deep {
		b = b.Uleb(2).U64(0x1000, 0x1000)
	}
	for range deep {
		b = b.End()
	}
	d := New(Sections{Info: dwarftest.Unit4(b.End().End()), Abbrev: abbrevs}, Options{})
	var addrs []uint64
	for i := range uint64(wide) {
		addrs = append(addrs, 0x1000+i)
	}
	total := 0
	err := d.Lookup(addrs, func(_ uint64, frames []Answer) { total += len(frames) })
	require.ErrorIs(t, err, errManyFrames)
	require.Greater(t, total, framesFloor)
	require.LessOrEqual(t, total, framesFloor+(framesTimes+1)*wide)
}

// TestOverlappingFunctions: gold --icf folds equal functions into one and keeps all their entries.
// The last entry wins.
func TestOverlappingFunctions(t *testing.T) {
	b := dwarftest.Bytes{}.Unit(100, 200).Function("first", 100, 50).End().Function("second", 120, 60).End().End()
	got := lookupInfo(t, dwarftest.Unit4(b), 100, 200)
	require.Equal(t, []string{"first"}, names(got[119]))
	require.Equal(t, []string{"second"}, names(got[120]))
	require.Equal(t, []string{"second"}, names(got[150]))
}

// TestManyAddressesOfOneUnit: the time grows with the sum of entries and addresses, not with their
// product. A quadratic search takes minutes.
func TestManyAddressesOfOneUnit(t *testing.T) {
	for name, make := range map[string]func(int) (Sections, []uint64){"functions": flatUnit, "inlines": flatFunction, "units": wideUnit} {
		t.Run(name, func(t *testing.T) {
			sec, addrs := make(200_000)
			begin := time.Now()
			answers := 0
			require.NoError(t, New(sec, Options{}).Lookup(addrs, func(uint64, []Answer) { answers++ }))
			require.Equal(t, len(addrs), answers)
			require.Less(t, time.Since(begin), 20*time.Second)
		})
	}
}

func ExampleFormatError() {
	fmt.Println(&FormatError{Section: ".debug_info", Offset: 0x1f, Msg: "an entry runs past the end of its unit"})
	// Output: .debug_info+0x1f: an entry runs past the end of its unit
}
