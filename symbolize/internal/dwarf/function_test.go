package dwarf

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func lookupInfo(t *testing.T, info []byte, lo, hi uint64) map[uint64][]Frame {
	t.Helper()
	got, err := lookupAll(New(Sections{Info: info, Abbrev: testAbbrevs()}, Options{}), lo, hi)
	require.NoError(t, err)
	return got
}

// TestInlinedThreeDeep: outer [100,200) has middle [110,150) inlined, and that inner [120,130).
func TestInlinedThreeDeep(t *testing.T) {
	b := bytesOf{}.unit(100, 200)
	inner := b.at()
	b = b.abstract("inner", 1)
	middle := b.at()
	b = b.abstract("middle", 2)
	b = b.function("outer", 100, 100).inlined(middle, 110, 40, 7).inlined(inner, 120, 10, 8).end().end().
		inlined(inner, 160, 10, 9).end().end().
		function("next", 200, 10).end().end()
	got := lookupInfo(t, unit4(b), 90, 220)
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

// TestFunctionsWithinSkippedTypes: types are passed over by their sibling attribute at first, but never for good.
func TestFunctionsWithinSkippedTypes(t *testing.T) {
	class := func(sibling uint32) bytesOf {
		return bytesOf{}.unit(100, 200).uleb(codeSkipped).u32(sibling).str("Class").function("method", 160, 20).end().end()
	}
	sibling := class(0).at()
	got := lookupInfo(t, unit4(class(sibling).function("f", 100, 10).end().end()), 100, 200)
	require.Equal(t, []string{"f"}, names(got[105]))
	require.Equal(t, []string{"method"}, names(got[165]))
}

// TestInlinedSiblingsThatOverlap: which only faulty input has; the later one counts, and the depth stays.
func TestInlinedSiblingsThatOverlap(t *testing.T) {
	b := bytesOf{}.unit(100, 200)
	first := b.at()
	b = b.abstract("first", 1)
	second := b.at()
	b = b.abstract("second", 2)
	b = b.function("f", 100, 100).inlined(first, 110, 20, 7).end().inlined(second, 120, 20, 8).end().end().end()
	got := lookupInfo(t, unit4(b), 100, 150)
	require.Equal(t, []string{"first", "f"}, names(got[119]))
	require.Equal(t, []string{"second", "f"}, names(got[125]))
}

// TestInlinedCallsWithoutRanges: middle has none, for it is in pieces and DWARF 2 cannot say so; inner, inlined into it, has.
func TestInlinedCallsWithoutRanges(t *testing.T) {
	b := bytesOf{}.unit(100, 200)
	inner := b.at()
	b = b.abstract("inner", 1)
	middle := b.at()
	b = b.abstract("middle", 2)
	b = b.function("outer", 100, 100).inlined(middle, 0, 0, 7).inlined(inner, 120, 10, 8).end().end().end().end()
	got := lookupInfo(t, unit4(b), 100, 200)
	require.Equal(t, []string{"outer"}, names(got[119]))
	require.Equal(t, []string{"inner", "middle", "outer"}, names(got[120]))
}

// TestFunctionsWithinTypes: a local class without a sibling attribute to skip by.
func TestFunctionsWithinTypes(t *testing.T) {
	b := bytesOf{}.unit(100, 200).
		function("outer", 100, 50).uleb(codeClass).str("Local").function("method", 160, 20).end().end().end().
		end()
	got := lookupInfo(t, unit4(b), 100, 200)
	require.Equal(t, []string{"outer"}, names(got[149]))
	require.Equal(t, []string{"method"}, names(got[160]))
	require.Empty(t, names(got[150]))
}

func TestNamesBySpecificationAndOrigin(t *testing.T) {
	b := bytesOf{}.unit(100, 200)
	declared := b.at()
	b = b.abstract("declared", 42)
	link := b.at()
	b = b.uleb(codeRef).u32(declared).u32(declared)
	b = b.uleb(codeConcrete).u32(link).u64(100, 10).end().
		uleb(codeSpecified).u32(declared).u64(110, 10).end().
		uleb(codeConcrete).u32(0xffffff).u64(120, 10).end().end()
	got := lookupInfo(t, unit4(b), 100, 130)
	for _, a := range []uint64{100, 110} {
		require.Equal(t, "declared", got[a][0].Name)
		require.Equal(t, 42, got[a][0].StartLine)
	}
	require.Equal(t, []string{""}, names(got[120]), "a reference out of the section is no name")
}

// TestReferencesInACircle: links that lead back, or fork at each step, end without a name.
func TestReferencesInACircle(t *testing.T) {
	b := bytesOf{}.unit(100, 200)
	const links = 64
	first := b.at()
	const size = 1 + 4 + 4
	for i := range uint32(links) {
		next := first + (i+1)%links*size
		b = b.uleb(codeRef).u32(next).u32(next)
	}
	b = b.uleb(codeConcrete).u32(first).u64(100, 10).end().
		uleb(codeConcrete).u32(b.at()).u64(110, 10).end().end() // refers to itself
	got := lookupInfo(t, unit4(b), 100, 120)
	require.Equal(t, []string{""}, names(got[100]))
	require.Equal(t, []string{""}, names(got[110]))
}

func TestAddressesThatNothingHolds(t *testing.T) {
	got := lookupInfo(t, unit4(bytesOf{}.unit(100, 100).function("f", 120, 10).end().end()), 0, 300)
	require.Len(t, got, 10, "an address in a unit but in no function and no line has no answer")
}

func TestMalformedUnits(t *testing.T) {
	good := unit4(bytesOf{}.unit(100, 100).function("f", 100, 10).end().end())
	for name, c := range map[string]struct{ tail, msg string }{
		"longer than the section": {"\xff\xff\xff\x7f", "longer than its section"},
		"unknown version":         {"\x07\x00\x00\x00\x09\x00\x00\x00\x00\x00\x08", "unknown version"},
		"address size":            {"\x07\x00\x00\x00\x04\x00\x00\x00\x00\x00\x03", "address size"},
		"abbreviations elsewhere": {"\x08\x00\x00\x00\x04\x00\xff\xff\x00\x00\x08\x01", ".debug_abbrev"},
		"no such abbreviation":    {"\x08\x00\x00\x00\x04\x00\x00\x00\x00\x00\x08\x7f", "malformed root entry"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Sections{Info: append(good[:len(good):len(good)], c.tail...), Abbrev: testAbbrevs()}, Options{})
			got, err := lookupAll(d, 100, 110)
			require.ErrorContains(t, err, c.msg)
			require.Equal(t, []string{"f"}, names(got[105]), "what precedes the fault is used")
			require.Regexp(t, `^\.debug_\w+\+0x[0-9a-f]+: `, err.Error(), "an error names section and offset")
		})
	}
}

// TestNestingIsBounded: entries nested without end are refused, not recursed into.
func TestNestingIsBounded(t *testing.T) {
	b := bytesOf{}.unit(100, 100)
	for range maxDepth + 10 {
		b = b.uleb(codeClass).str("")
	}
	_, err := lookupAll(New(Sections{Info: unit4(b), Abbrev: testAbbrevs()}, Options{}), 100, 101)
	require.ErrorContains(t, err, "nested too deep")
}

// TestSharedAbbreviationTablesAreBounded: units may start their table anywhere in one long table.
func TestSharedAbbreviationTablesAreBounded(t *testing.T) {
	abbrevs := bytesOf{}
	for code := range uint64(20_000) {
		abbrevs = abbrevs.abbreviation(code+1, tagCompileUnit, false)
	}
	var info bytesOf
	for i := range uint32(5000) {
		// Each abbreviation of a code below 128 has 5 bytes: the root entry is the first of the table.
		info = append(info, bytesOf{}.u32(8).u16(4).u32(i%100*5).u8(8).uleb(uint64(i%100)+1)...)
	}
	d := New(Sections{Info: info, Abbrev: abbrevs.uleb(0)}, Options{})
	require.NotEmpty(t, d.Faults)
	require.ErrorContains(t, d.Faults[0], "overlapping tables")
	require.Less(t, len(d.abbrevs), 20, "tables kept")
}

// TestSharedRangeListsAreBounded: thousands of entries that refer to one long list cost a multiple of the list's size, no more.
func TestSharedRangeListsAreBounded(t *testing.T) {
	abbrevs := bytesOf{}.
		abbreviation(1, tagCompileUnit, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).
		abbreviation(2, tagInlined, false, uint64(attrRanges), uint64(formSecOffset)).
		abbreviation(3, tagSubprogram, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).uleb(0)
	b := bytesOf{}.uleb(1).u64(0x1000, 0x100000)
	b = b.uleb(3).u64(0x1000, 0x1000)
	const inlines, entries = 5000, 5000
	for range inlines {
		b = b.uleb(2).u32(0)
	}
	var list bytesOf
	for i := range uint64(entries) {
		list = list.u64(i*2+1, i*2+2)
	}
	d := New(Sections{Info: unit4(b.end().end()), Abbrev: abbrevs, Ranges: list.u64(0, 0)}, Options{})
	_, err := lookupAll(d, 0x1001, 0x1002)
	require.ErrorIs(t, err, errSharedRanges)
	kept := 0
	d.renewBudget()
	table, _ := d.units[0].functions([]uint64{0x1001})
	for _, in := range table.found[0].inlines {
		kept += len(in.ranges)
	}
	require.NotZero(t, kept)
	require.LessOrEqual(t, kept, budgetFloor+budgetTimes*len(list)+entries, "the list that spends the rest is read to its end")
}

// TestSharedNamesAreBounded: thousands of entries that refer to one long name cost a multiple of the section's size, no more.
func TestSharedNamesAreBounded(t *testing.T) {
	abbrevs := bytesOf{}.
		abbreviation(1, tagCompileUnit, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).
		abbreviation(2, tagInlined, false, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8), uint64(attrLinkageName), uint64(formStrp)).
		abbreviation(3, tagSubprogram, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).uleb(0)
	b := bytesOf{}.uleb(1).u64(0x1000, 0x100000)
	b = b.uleb(3).u64(0x1000, 0x1000)
	const inlines, long = 5000, 1 << 20
	for range inlines {
		b = b.uleb(2).u64(0x1000, 0x1000).u32(0)
	}
	d := New(Sections{Info: unit4(b.end().end()), Abbrev: abbrevs, Str: bytesOf{}.str(strings.Repeat("n", long))}, Options{})
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

// TestDeepInlinesAreBounded: calls inlined into each other thousands deep, at thousands of addresses, do not cost their product.
func TestDeepInlinesAreBounded(t *testing.T) {
	abbrevs := bytesOf{}.
		abbreviation(1, tagCompileUnit, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).
		abbreviation(2, tagInlined, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).
		abbreviation(3, tagSubprogram, true, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8)).uleb(0)
	b := bytesOf{}.uleb(1).u64(0x1000, 0x100000)
	b = b.uleb(3).u64(0x1000, 0x1000)
	const deep, wide = 4000, 2000
	for range deep {
		b = b.uleb(2).u64(0x1000, 0x1000)
	}
	for range deep {
		b = b.end()
	}
	d := New(Sections{Info: unit4(b.end().end()), Abbrev: abbrevs}, Options{})
	var addrs []uint64
	for i := range uint64(wide) {
		addrs = append(addrs, 0x1000+i)
	}
	total := 0
	err := d.Lookup(addrs, func(_ uint64, frames []Frame) { total += len(frames) })
	require.ErrorIs(t, err, errManyFrames)
	require.Greater(t, total, framesFloor)
	require.LessOrEqual(t, total, framesFloor+(framesTimes+1)*wide)
}

// TestFunctionsThatOverlap: gold folds equal functions into one and keeps the entries of all. The last one counts.
func TestFunctionsThatOverlap(t *testing.T) {
	b := bytesOf{}.unit(100, 200).function("first", 100, 50).end().function("second", 120, 60).end().end()
	got := lookupInfo(t, unit4(b), 100, 200)
	require.Equal(t, []string{"first"}, names(got[119]))
	require.Equal(t, []string{"second"}, names(got[120]))
	require.Equal(t, []string{"second"}, names(got[150]))
}

// TestManyAddressesOfOneUnit: the time is that of the entries and addresses, not of their product. A quadratic search
// takes minutes here.
func TestManyAddressesOfOneUnit(t *testing.T) {
	for name, make := range map[string]func(int) (Sections, []uint64){"functions": flatUnit, "inlines": flatFunction, "units": wideUnit} {
		t.Run(name, func(t *testing.T) {
			sec, addrs := make(200_000)
			begin := time.Now()
			answers := 0
			require.NoError(t, New(sec, Options{}).Lookup(addrs, func(uint64, []Frame) { answers++ }))
			require.Equal(t, len(addrs), answers)
			require.Less(t, time.Since(begin), 20*time.Second)
		})
	}
}

func ExampleFormatError() {
	fmt.Println(&FormatError{".debug_info", 0x1f, "an entry runs past the end of its unit"})
	// Output: .debug_info+0x1f: an entry runs past the end of its unit
}
