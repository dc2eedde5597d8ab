package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimplify(t *testing.T) {
	for full, want := range map[string]string{
		"main":                                                        "main",
		"fetch.part.0":                                                "fetch",
		"operator new(unsigned long)":                                 "operator new",
		"operator new[](unsigned long)":                               "operator new[]",
		"Cache::add(int) const":                                       "Cache::add",
		"Cache::add(int) (.cold)":                                     "Cache::add",
		"read(int) [clone .isra.0]":                                   "read",
		"f [clone .part.0]":                                           "f",
		"Config::parse[abi:cxx11](char)":                              "Config::parse[abi:cxx11]",
		"serve(long, bool)":                                           "serve",
		"void handle<13>(Registry&)":                                  "handle<13>",
		"unsigned long f<int>(int)":                                   "f<int>",
		"A::operator()(int) const &":                                  "A::operator()",
		"A::operator unsigned long() const":                           "A::operator unsigned long",
		"operator<<(A&, int)":                                         "operator<<",
		"bool operator< <int>(A, B)":                                  "operator< <int>",
		"A::operator->() const":                                       "A::operator->",
		"A::operator std::vector<int>()":                              "A::operator std::vector<int>",
		"void (*f<int>(int))(char)":                                   "f<int>",
		"f(int)::Local::g(char)":                                      "f()::Local::g",
		"(anonymous namespace)::f(int)":                               "(anonymous namespace)::f",
		"void std::__invoke_impl<void, void (*)(int)>(int)":           "std::__invoke_impl<void, void (*)(int)>",
		"f<(A)1, (2 > 1)>(int)":                                       "f<(A)1, (2 > 1)>",
		"main.(*Server).Handle":                                       "main.(*Server).Handle",
		"main::{lambda(int)#1}::operator()(int) const":                "main::{lambda(int)#1}::operator()",
		"<alloc::vec::Vec<T> as core::ops::Fn(u8) -> T>::f":           "<alloc::vec::Vec<T> as core::ops::Fn(u8) -> T>::f",
		"a::Store::remember::hc00adf447456b524":                       "a::Store::remember",
		"_$LT$a..A$u20$as$u20$a..Handler$GT$::run::h04829c43a6dd6a78": "<a::A as a::Handler>::run",
		"a::main::_$u7b$$u7b$closure$u7d$$u7d$::h222004bc8c539243":    "a::main::{{closure}}",
		"a::h0000000000000000":                                        "a::h0000000000000000",
		"a::hc00adf447456b52":                                         "a::hc00adf447456b52",
		"(":                                                           "(",
		" ":                                                           " ",
		"f(a":                                                         "f",
		"f<a(":                                                        "f<a(",
	} {
		require.Equal(t, want, Simplify(full), full)
	}
}

// simplifiedDifferently is the number of functions in libcxxabi's list that Simplify names differently
// than Demangle does: the full name writes a lambda or a literal in another way.
const simplifiedDifferently = 61

// TestSimplifyLibcxxabi compares the simple names of the functions of libcxxabi's list with those that
// Simplify makes of the full ones.
func TestSimplifyLibcxxabi(t *testing.T) {
	n, different := 0, []string{}
	for linkage := range libcxxabi(t) {
		full, simple := Demangle(linkage, Full), Demangle(linkage, Simple)
		if full == linkage || !strings.Contains(full, "(") || strings.HasPrefix(linkage, "_ZT") || strings.HasPrefix(linkage, "_ZG") {
			continue
		}
		n++
		if got := Simplify(full); got != simple {
			different = append(different, full+"\n\twant "+simple+"\n\tgot  "+got)
		}
	}
	t.Logf("%d of %d names differ:\n%s", len(different), n, strings.Join(different, "\n"))
	require.Greater(t, n, 20_000)
	require.LessOrEqual(t, len(different), simplifiedDifferently)
}

// FuzzSimplify: no name becomes empty, and simple names stay as they are.
func FuzzSimplify(f *testing.F) {
	for _, s := range []string{"f(int)", "void (*f<int>(int))(char)", "A::operator< <int>(B)", "f<(", "decltype (1) g()", "(*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		require.Equal(t, name == "", Simplify(name) == "")
	})
}
