package identity_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/symbolize"
)

func TestModuleName(t *testing.T) {
	for in, want := range map[string]string{
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30": "libstdc++.so",
		"libc.so.6":            "libc.so",
		"/lib/libc-2.31.so":    "libc.so",
		"/usr/bin/python3.11":  "python",
		"libpython3.11.so.1.0": "libpython.so",
		"_multiarray_umath.cpython-311-x86_64-linux-gnu.so": "_multiarray_umath.so",
		"_rust.abi3.so": "_rust.so",
		"numpy.libs/libgfortran-040039e1.so.5.0.0":    "libgfortran.so",
		"numpy.libs/libscipy_openblas64_-99b71e71.so": "libscipy_openblas64_.so",
		"/srv/shop/releases/2026-11-02/shopd":         "shopd",
		"/opt/shopd-1.2.3":                            "shopd",
		"/opt/shopd-v7":                               "shopd",
		"shopd (deleted)":                             "shopd",
		"node18":                                      "node18",
		"libfoo64.so":                                 "libfoo64.so",
		"":                                            "",
		"1.2.3":                                       "1.2.3",
		"/7":                                          "7",
		"libssl.so.3":                                 "libssl.so",
		"libboost_thread-mt-1.74.0.so":                "libboost_thread-mt.so",
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so": "libjvm.so",
	} {
		require.Equal(t, want, identity.ModuleName(in), in)
	}
}

// code is a frame of a program.
func code(function, module string) symbolize.Frame {
	return symbolize.Frame{Function: function, Module: module, File: "/src/" + function + ".cc"}
}

// TestKeysSurviveBuilds: two builds of one program, on two hosts, give the same key.
func TestKeysSurviveBuilds(t *testing.T) {
	main := code("main", "/srv/a/shopd")
	key := identity.KeysOf([]symbolize.Frame{code("Cache<int>::load", "/srv/a/libshop.so.1.2"), main}, 0)
	require.Equal(t, identity.KeyFunction, key.Kind)
	require.Positive(t, key.Site)
	for what, frame := range map[string]symbolize.Frame{
		"directory and version":  code("Cache<int>::load", "/srv/b/libshop.so.1.3.1"),
		"template argument":      code("Cache<std::vector<long>>::load", "/srv/a/libshop.so.1.2"),
		"clone of a compiler":    code("Cache<int>::load [clone .isra.0]", "/srv/a/libshop.so.1.2"),
		"moved to another file":  {Function: "Cache<int>::load", Module: "libshop.so", File: "/src/other.cc"},
		"no debug information":   {Function: "Cache<int>::load", Module: "libshop.so"},
		"address of a cold part": code("Cache<int>::load.cold", "/srv/a/libshop.so.1.2"),
	} {
		got := identity.KeysOf([]symbolize.Frame{frame, main}, 0)
		require.Equal(t, key, got, what)
	}
	for what, frame := range map[string]symbolize.Frame{
		"function": code("Cache<int>::store", "/srv/a/libshop.so.1.2"),
		"class":    code("Index::load", "/srv/a/libshop.so.1.2"),
		"module":   code("Cache<int>::load", "/srv/a/libstock.so.1.2"),
		"script":   {Function: "Cache<int>::load", File: "/srv/a/shop.py", Line: 1},
	} {
		require.NotEqual(t, key.Site, identity.KeysOf([]symbolize.Frame{frame, main}, 0).Site, what)
	}
}

func TestKeysOfPaths(t *testing.T) {
	a, b, c := code("a", "p"), code("b", "p"), code("c", "p")
	direct := identity.KeysOf([]symbolize.Frame{a, b, c}, 0)
	require.Equal(t, direct, identity.KeysOf([]symbolize.Frame{a, a, b, b, c}, 0), "a function that calls itself counts once")
	require.Equal(t, direct, identity.KeysOf([]symbolize.Frame{code("malloc", "libc.so.6"), a, b, c}, 1), "frames below the site do not count")
	other := identity.KeysOf([]symbolize.Frame{a, c}, 0)
	require.Equal(t, direct.Site, other.Site)
	require.NotEqual(t, direct.Path, other.Path)
}

// TestKeysWithoutNames: such keys are marked, so that nobody compares them across builds.
func TestKeysWithoutNames(t *testing.T) {
	place := func(function, module string) symbolize.Frame {
		return symbolize.Frame{Function: function, Module: module}
	}
	lib := identity.KeysOf([]symbolize.Frame{place("libx.so.1+0x7f7a", "/lib/libx.so.1")}, 0)
	require.Equal(t, identity.KeyOffset, lib.Kind)
	require.False(t, lib.Kind.AcrossBuilds())
	require.NotEqual(t, lib.Site, identity.KeysOf([]symbolize.Frame{place("libx.so.1+0x7f7b", "/lib/libx.so.1")}, 0).Site)

	outside := identity.KeysOf([]symbolize.Frame{place("0x7f0000001000", "")}, 0)
	require.Equal(t, outside, identity.KeysOf([]symbolize.Frame{place("0x7f0000002000", "")}, 0), "addresses differ between processes")

	require.Equal(t, identity.Keys{Kind: identity.KeyNone}, identity.KeysOf(nil, -1))
	require.Equal(t, identity.Keys{Kind: identity.KeyNone}, identity.KeysOf(nil, 0))
}

// TestKeysAreNumbersOfSQL: BIGINT has a sign, and JSON's numbers lose digits.
func TestKeysAreNumbersOfSQL(t *testing.T) {
	out, err := json.Marshal(map[string]identity.Key{"site_key": 1<<63 - 1})
	require.NoError(t, err)
	require.Equal(t, `{"site_key":"9223372036854775807"}`, string(out))
}

// TestCodeOfStringsIsAScript: the engine leaves out the number that Perl gives each eval.
func TestCodeOfStringsIsAScript(t *testing.T) {
	for file, want := range map[string]bool{
		"(eval)": true, "(eval 3)": true, "-e": true, "<string>": true, "/srv/app.rb": true, "app.c": false,
		"/usr/bin/gunicorn": true, "server": true, "/usr/include/c++/12/vector": false, "node:fs": false, "": false,
	} {
		require.Equal(t, want, identity.IsScript(&symbolize.Frame{Function: "<eval>", File: file, Line: 1}), file)
	}
}
