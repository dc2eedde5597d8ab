package symbolize

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemangle(t *testing.T) {
	const legacyRust = "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"
	for linkage, want := range map[string]struct{ simple, full, llvm string }{
		"main":            {"main", "main", "main"},
		"_start":          {"_start", "_start", "_start"},
		"_Znotmangled":    {"_Znotmangled", "_Znotmangled", "_Znotmangled"},
		"_Znwm":           {"operator new", "operator new(unsigned long)", "operator new(unsigned long)"},
		"_ZN5Cache3addEi": {"Cache::add", "Cache::add(int)", "Cache::add(int)"},
		"_ZNSt6vectorIS_IiSaIiEESaIS1_EE4sizeEv": {
			"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::size",
			"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::size()",
			"std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::size()",
		},
		"_Z1fi.constprop.0.isra.0": {"f", "f(int) [clone .constprop.0] [clone .isra.0]", "f(int) (.constprop.0.isra.0)"},
		"fputc.cold":               {"fputc", "fputc.cold", "fputc.cold"},
		"read_all.part.0.isra.1":   {"read_all", "read_all.part.0.isra.1", "read_all.part.0.isra.1"},
		"malloc@@GLIBC_2.2.5":      {"malloc", "malloc@@GLIBC_2.2.5", "malloc@@GLIBC_2.2.5"},
		"runtime.goexit.abi0":      {"runtime.goexit", "runtime.goexit.abi0", "runtime.goexit.abi0"},
		"main.main.func1":          {"main.main.func1", "main.main.func1", "main.main.func1"},
		"a.part.of.it":             {"a.part.of.it", "a.part.of.it", "a.part.of.it"},
		"_ZSt12__get_helperILm0ERKlJEERT0_RSt11_Tuple_implIXT_EJS2_DpT1_EE": {
			"std::__get_helper<0ul, long const&>",
			"long const& std::__get_helper<0ul, long const&>(std::_Tuple_impl<0ul, long const&>&)",
			"long const& std::__get_helper<0ul, long const&>(std::_Tuple_impl<0ul, long const&>&)",
		},
		"_ZN6shapes5IndexIlElsERKl": {"shapes::Index<long>::operator<<", "shapes::Index<long>::operator<<(long const&)", "shapes::Index<long>::operator<<(long const&)"},
		"_ZrsR1AS_":                 {"operator>>", "operator>>(A&, A)", "operator>>(A&, A)"},
		"_RNvCs1234_7mycrate3foo":   {"mycrate::foo", "mycrate::foo", "mycrate::foo"},
		legacyRust:                  {"core::fmt::Formatter::pad", "core::fmt::Formatter::pad", "core::fmt::Formatter::pad::h0123456789abcdef"},
		"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": {
			"<&T as core::fmt::Debug>::fmt", "<&T as core::fmt::Debug>::fmt", "_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef",
		},
		"_RNCNCNCNvC1a1f00s_0.llvm.12": {
			"a::f::{closure#0}::{closure#0}::{closure#1}",
			"a::f::{closure#0}::{closure#0}::{closure#1} [clone .llvm.12]",
			"a::f::{closure#0}::{closure#0}::{closure#1} (.llvm.12)",
		},
	} {
		t.Run(linkage, func(t *testing.T) {
			require.Equal(t, want.simple, demangleName(linkage, DemangleSimple))
			require.Equal(t, want.full, demangleName(linkage, DemangleFull))
			require.Equal(t, want.llvm, demangleName(linkage, DemangleLLVM))
			require.Equal(t, linkage, demangleName(linkage, DemangleNone))
		})
	}
}

// TestDemangleIsCapped: names that are longer than any compiler's stay as they are.
func TestDemangleIsCapped(t *testing.T) {
	long := "_Z1fI" + strings.Repeat("i", maxMangled) + "EvT_"
	require.Equal(t, long, demangleName(long, DemangleFull))
}

// TestBothNamesAreKept: the name for people beside the linkage name.
func TestBothNamesAreKept(t *testing.T) {
	path := standard(t).main
	entry := symbolValue(t, path, "_Z10part_entryPKc")
	for mode, want := range map[Demangle]string{
		DemangleSimple: "part_entry", DemangleFull: "part_entry(char const*)", DemangleNone: "_Z10part_entryPKc",
	} {
		got, err := ELF(path, []uint64{entry}, Options{Demangle: mode})
		require.NoError(t, err)
		last := got[0].Frames[len(got[0].Frames)-1]
		require.Equal(t, want, last.Function)
		require.Equal(t, "_Z10part_entryPKc", last.Linkage)
	}
}
