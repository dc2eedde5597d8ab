package dwarf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// scoped is a C++ unit: f at 100 in namespace a, in an anonymous namespace, in class C; g at 110 behind them.
func scoped(language uint8) (info, abbrevs []byte) {
	name := []uint64{uint64(attrName), uint64(formString)}
	code := append(name, uint64(attrLowPC), uint64(formAddr), uint64(attrHighPC), uint64(formData8))
	abbrevs = bytesOf{}.
		abbreviation(1, tagCompileUnit, true, append(code[2:6:6], uint64(attrLanguage), uint64(formData1))...).
		abbreviation(2, tagNamespace, true, name...).
		abbreviation(3, tagNamespace, true).
		abbreviation(4, tagClass, true, name...).
		abbreviation(5, tagSubprogram, false, code...).uleb(0)
	b := bytesOf{}.uleb(1).u64(100, 20).u8(language).
		uleb(2).str("a").uleb(3).uleb(4).str("C").uleb(5).str("f").u64(100, 10).end().end().end().
		uleb(5).str("g").u64(110, 10).end()
	return unit4(b), abbrevs
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

// TestDeepScopes: no more than some namespaces are printed, however deep they nest.
func TestDeepScopes(t *testing.T) {
	_, abbrevs := scoped(4)
	b := bytesOf{}.uleb(1).u64(100, 20).u8(4)
	for range 1000 {
		b = b.uleb(2).str("n")
	}
	b = b.uleb(5).str("f").u64(100, 10)
	for range 1001 {
		b = b.end()
	}
	got, err := lookupAll(New(Sections{Info: unit4(b), Abbrev: abbrevs}, Options{}), 100, 101)
	require.NoError(t, err)
	require.Len(t, got[100][0].QualifiedName(), 3*maxRefs+1)
}
