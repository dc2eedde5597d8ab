package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/identity"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"Cache::load":                               "Cache::load",
		"Cache::load.isra.0":                        "Cache::load",
		"Cache::load.constprop.0.cold":              "Cache::load",
		"Cache::load [clone .isra.0]":               "Cache::load",
		"Cache::load [clone .part.3] [clone .cold]": "Cache::load",
		"Cache::load (.llvm.1234567890)":            "Cache::load",
		"parse.lto_priv.12":                         "parse",
		"label[abi:cxx11]":                          "label",
		"memcpy@@GLIBC_2.14":                        "memcpy",
		"memcpy@GLIBC_2.2.5":                        "memcpy",
		"core::ptr::drop::h0123456789abcdef":        "core::ptr::drop",
		"std::__1::vector<int>::push_back":          "std::vector<int>::push_back",
		"std::__cxx11::basic_string<char>::reserve": "std::basic_string<char>::reserve",
		"run()::{lambda(int)#2}::operator()":        "run()::{lambda}::operator()",
		"run::$_3::operator()":                      "run::{lambda}::operator()",
		"app::main::{{closure}}":                    "app::main::{closure}",
		"app::main::{closure#4}":                    "app::main::{closure}",
		"(anonymous namespace)::f":                  "(anonymous namespace)::f",
		"malloc@plt":                                "malloc@plt",
	} {
		require.Equal(t, want, identity.Normalize(in), in)
	}
}

func TestUntemplated(t *testing.T) {
	for in, want := range map[string]string{
		"std::vector<std::pair<int, A<B>>>::push_back": "std::vector::push_back",
		"operator<<":                     "operator<<",
		"ns::operator< <int>":            "ns::operator<",
		"A<int>::operator->":             "A::operator->",
		"f<(A)->B>::g":                   "f::g",
		"<T as core::fmt::Display>::fmt": "<T as core::fmt::Display>::fmt",
		"plain":                          "plain",
	} {
		require.Equal(t, want, identity.Untemplated(in), in)
	}
}

func site(place string, blame int, frames ...string) identity.Site {
	return identity.Site{Place: place, Frames: frames, Blame: blame}
}

func TestPairTakesSurestTierFirst(t *testing.T) {
	base := []identity.Site{
		site("id+1", 0, "leak", "main"),
		site("id+2", 0, "cache<int>", "load", "main"),
		site("id+3", 0, "moved", "a", "b", "c", "d", "e", "f", "g", "h", "i"),
		site("id+4", 0, "split", "old"),
		site("id+5", 0, "removed", "main"),
	}
	current := []identity.Site{
		site("id2+1", 0, "added", "main"),
		site("id+1", 0, "leak", "main"),
		site("id2+2", 0, "cache<long>", "load", "main"),
		site("id2+3", 0, "moved", "a", "b", "x", "c", "d", "e", "f", "g", "h", "i"),
		site("id2+4", 0, "split", "new", "one"),
		site("id2+5", 0, "split", "new", "two"),
	}
	require.Equal(t, []identity.Match{
		{Tier: identity.Unmatched, Current: []int{0}},
		{Tier: identity.ByPlace, Base: []int{0}, Current: []int{1}},
		{Tier: identity.ByCallers, Base: []int{1}, Current: []int{2}},
		{Tier: identity.BySimilarity, Base: []int{2}, Current: []int{3}},
		{Tier: identity.ByBlame, Base: []int{3}, Current: []int{4, 5}},
		{Tier: identity.Unmatched, Base: []int{4}},
	}, identity.Pair(base, current))
}

// TestPairPutsEverySiteIntoOneMatch: no site is lost or counted twice.
func TestPairPutsEverySiteIntoOneMatch(t *testing.T) {
	names := []string{"f", "g<1>", "g<2>", "h"}
	var sides [2][]identity.Site
	for i := range 60 {
		for side := range sides {
			k := i*7 + side*3
			sides[side] = append(sides[side], site(names[k%4]+string(rune('a'+k%5)), k%3-1, names[k%4], names[k%3], names[(k/2)%4]))
		}
	}
	var seen [2]map[int]int
	seen[0], seen[1] = map[int]int{}, map[int]int{}
	for _, m := range identity.Pair(sides[0], sides[1]) {
		for _, i := range m.Base {
			seen[0][i]++
		}
		for _, i := range m.Current {
			seen[1][i]++
		}
		require.Equal(t, m.Tier == identity.Unmatched, len(m.Base) == 0 || len(m.Current) == 0)
	}
	for side := range sides {
		require.Len(t, seen[side], 60)
		for i, n := range seen[side] {
			require.Equal(t, 1, n, "site %d of side %d", i, side)
		}
	}
}
