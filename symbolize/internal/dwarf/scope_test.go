package dwarf

import (
	"testing"

	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/dwarftest"
	"github.com/heaplapse/heaplapse/symbolize/internal/dwarf/encoding"
	"github.com/stretchr/testify/require"
)

// scoped returns a unit with f at 100 in class C in an anonymous namespace in namespace a, and g at
// 110 outside of them.
func scoped(language uint8) (info, abbrevs []byte) {
	name := dwarftest.Attr(encoding.AttrName, encoding.FormString)
	code := append([]dwarftest.Attribute{name}, dwarftest.LowSize()...)
	abbrevs = dwarftest.Bytes{}.
		Abbreviation(1, encoding.TagCompileUnit, true, dwarftest.LowSize(dwarftest.Attr(encoding.AttrLanguage, encoding.FormData1))...).
		Abbreviation(2, encoding.TagNamespace, true, name).
		Abbreviation(3, encoding.TagNamespace, true).
		Abbreviation(4, encoding.TagClass, true, name).
		Abbreviation(5, encoding.TagSubprogram, false, code...).Uleb(0)
	b := dwarftest.Bytes{}.Uleb(1).U64(100, 20).U8(language).
		Uleb(2).Str("a").Uleb(3).Uleb(4).Str("C").Uleb(5).Str("f").U64(100, 10).End().End().End().
		Uleb(5).Str("g").U64(110, 10).End()
	return dwarftest.Unit4(b), abbrevs
}

func TestQualifiedNames(t *testing.T) {
	for language, want := range map[uint8]string{0x04: "a::(anonymous namespace)::C::f", 0x21: "a::(anonymous namespace)::C::f", 0x0c: "f", 0: "f"} {
		info, abbrevs := scoped(language)
		got, err := lookupAll(New(Sections{Info: info, Abbrev: abbrevs}, Options{}), 100, 120)
		require.NoError(t, err)
		for range 2 {
			require.Equal(t, want, got[105][0].QualifiedName())
			require.Equal(t, "g", got[115][0].QualifiedName())
		}
	}
}

// TestDeepScopes: the number of scopes in a qualified name is limited.
func TestDeepScopes(t *testing.T) {
	_, abbrevs := scoped(4)
	b := dwarftest.Bytes{}.Uleb(1).U64(100, 20).U8(4)
	for range 1000 {
		b = b.Uleb(2).Str("n")
	}
	b = b.Uleb(5).Str("f").U64(100, 10)
	for range 1001 {
		b = b.End()
	}
	got, err := lookupAll(New(Sections{Info: dwarftest.Unit4(b), Abbrev: abbrevs}, Options{}), 100, 101)
	require.NoError(t, err)
	require.Len(t, got[100][0].QualifiedName(), 3*maxRefs+1)
}
