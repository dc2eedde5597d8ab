package names

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemangle(t *testing.T) {
	const legacyRust = "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"
	for linkage, want := range map[string]struct{ simple, full string }{
		"main":            {"main", "main"},
		"_start":          {"_start", "_start"},
		"_Znotmangled":    {"_Znotmangled", "_Znotmangled"},
		"_Znwm":           {"operator new", "operator new(unsigned long)"},
		"_ZN5Cache3addEi": {"Cache::add", "Cache::add(int)"},
		"_ZNSt6vectorIS_IiSaIiEESaIS1_EE4sizeEv": {
			"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::size",
			"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::size()",
		},
		"_Z1fi.constprop.0.isra.0": {"f", "f(int) (.constprop.0.isra.0)"},
		"fputc.cold":               {"fputc", "fputc.cold"},
		"read_all.part.0.isra.1":   {"read_all", "read_all.part.0.isra.1"},
		"malloc@@GLIBC_2.2.5":      {"malloc", "malloc@@GLIBC_2.2.5"},
		"runtime.goexit.abi0":      {"runtime.goexit", "runtime.goexit.abi0"},
		"main.main.func1":          {"main.main.func1", "main.main.func1"},
		"a.part.of.it":             {"a.part.of.it", "a.part.of.it"},
		"_ZSt12__get_helperILm0ERKlJEERT0_RSt11_Tuple_implIXT_EJS2_DpT1_EE": {
			"std::__get_helper<0ul, long const&>",
			"long const& std::__get_helper<0ul, long const&>(std::_Tuple_impl<0ul, long const&>&)",
		},
		"_ZN6shapes5IndexIlElsERKl": {"shapes::Index<long>::operator<<", "shapes::Index<long>::operator<<(long const&)"},
		"_ZrsR1AS_":                 {"operator>>", "operator>>(A&, A)"},
		"_RNvCs1234_7mycrate3foo":   {"mycrate::foo", "mycrate::foo"},
		legacyRust:                  {"core::fmt::Formatter::pad", "core::fmt::Formatter::pad::h0123456789abcdef"},
		legacyRust + ".llvm.12":     {"core::fmt::Formatter::pad", "core::fmt::Formatter::pad::h0123456789abcdef (.llvm.12)"},
		"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": {
			"<&T as core::fmt::Debug>::fmt", "_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef",
		},
		"_ZN1m5_fill17h0123456789abcdefE":     {"m::_fill", "m::_fill::h0123456789abcdef"},
		"_ZN1m8_fi$u7e$17h0123456789abcdefE":  {"m::_fi~", "m::_fi$u7e$::h0123456789abcdef"},
		"_ZN1m9f$XX$..$u17h0123456789abcdefE": {"m::f$XX$..$u", "m::f$XX$..$u::h0123456789abcdef"},
		"_ZN1m1f17h0000000000000000E":         {"m::f::h0000000000000000", "m::f::h0000000000000000"},
		"__alloc_token__Znwm":                 {"operator new", "__alloc_token__Znwm"},
		"__alloc_token_0__Znwm":               {"operator new", "__alloc_token_0__Znwm"},
		"__alloc_token_malloc":                {"malloc", "__alloc_token_malloc"},
		"__alloc_token_3_malloc":              {"malloc", "__alloc_token_3_malloc"},
		"__alloc_token_":                      {"__alloc_token_", "__alloc_token_"},
		"_RNCNCNCNvC1a1f00s_0.llvm.12": {
			"a::f::{closure#0}::{closure#0}::{closure#1}",
			"a::f::{closure#0}::{closure#0}::{closure#1} (.llvm.12)",
		},
		"_Znwm@plt":  {"operator new@plt", "operator new(unsigned long)@plt"},
		"malloc@plt": {"malloc@plt", "malloc@plt"},
		"@plt":       {"@plt", "@plt"},
	} {
		t.Run(linkage, func(t *testing.T) {
			require.Equal(t, want.simple, Demangle(linkage, Simple))
			require.Equal(t, want.full, Demangle(linkage, Full))
			require.Equal(t, linkage, Demangle(linkage, None))
		})
	}
}

// TestLongNames checks that names that are longer than any compiler's are not demangled.
func TestLongNames(t *testing.T) {
	long := "_Z1fI" + strings.Repeat("i", maxMangled) + "EvT_"
	require.Equal(t, long, Demangle(long, Full))
}

// TestBackReferences checks that names whose text is exponentially long are not demangled, also if
// only the library accepts them (_BitInt(8)).
func TestBackReferences(t *testing.T) {
	for _, last := range []string{"i", "DB8_"} {
		require.NotContains(t, Demangle("_Z1f"+doubled(4)+last, Full), "_Z")
		require.NotContains(t, Demangle("_Z1fI"+doubled(4)+last+"Evv", Simple), "_Z")
		name := "_Z1f" + doubled(60) + last
		require.Equal(t, name, Demangle(name, Full))
		require.Equal(t, "f", Demangle(name, Simple))
		name = "_Z1fI" + doubled(60) + last + "Evv"
		require.Equal(t, name, Demangle(name, Full))
		require.Equal(t, name, Demangle(name, Simple))
	}
}

// doubled returns n types, each of which contains the previous one twice.
func doubled(n int) string {
	var b strings.Builder
	b.WriteString("1AIiiE") // S_ and S0_
	for i := range n {
		fmt.Fprintf(&b, "S_IS%[1]s_S%[1]s_E", strings.ToUpper(strconv.FormatInt(int64(i), 36)))
	}
	return b.String()
}

// TestNewerManglings checks names of old compilers, and manglings newer than LLVM 14.
func TestNewerManglings(t *testing.T) {
	data, err := os.ReadFile("testdata/newer.txt")
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		require.Len(t, f, 3, line)
		require.Equal(t, f[1], Demangle(f[0], Full), f[0])
		require.Equal(t, f[2], Demangle(f[0], Simple), f[0])
		n++
	}
	require.Greater(t, n, 40)
}

// FuzzDemangle checks that no name becomes empty, and that names that are not mangled stay as they
// are.
func FuzzDemangle(f *testing.F) {
	for _, s := range []string{
		"_ZN5Cache3addEi", "_RNvCs1234_7mycrate3foo", "_ZSt12__get_helperILm0ERKlJEERT0_RSt11_Tuple_implIXT_EJS2_DpT1_EE", "f.cold",
		"malloc@@GLIBC_2.2.5", "_ZW3foo3barv", "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, mode := range []Mode{Simple, Full, None} {
			shown := Demangle(name, mode)
			require.Equal(t, name == "", shown == "")
			if mode == None || (mode != Simple && !IsMangled(name)) {
				require.Equal(t, name, shown)
			}
		}
	})
}
