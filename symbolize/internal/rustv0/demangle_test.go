package rustv0

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/internal/testutil"
)

const casesFile = "testdata/cases.txt"

var update = flag.Bool("update", false, "rewrite testdata/cases.txt with llvm-cxxfilt-14")

// cases calls f with each name and its demangled form, which is the name itself if it is malformed.
func cases(t testing.TB, f func(name, want string)) {
	t.Helper()
	data, err := os.ReadFile(casesFile)
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		name, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			require.True(t, strings.HasPrefix(line, "#"))
			continue
		}
		f(name, want)
		n++
	}
	require.Greater(t, n, 250)
}

// updateCases fills the second field of all lines with the answers of llvm-cxxfilt 14.
func updateCases(t *testing.T) {
	var names []string
	cases(t, func(name, _ string) { names = append(names, name) })
	answers, err := exec.Command(testutil.Need(t, "llvm-cxxfilt-14"), names...).Output()
	require.NoError(t, err)
	demangled := strings.Split(string(answers), "\n")
	data, err := os.ReadFile(casesFile)
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	next := 0
	for i, line := range lines {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			lines[i] = name + "\t" + demangled[next]
			next++
		}
	}
	require.NoError(t, os.WriteFile(casesFile, []byte(strings.Join(lines, "\n")), 0o644))
}

// TestCases checks that names are printed as LLVM prints them.
func TestCases(t *testing.T) {
	if *update {
		updateCases(t)
	}
	cases(t, func(name, want string) {
		got, err := Demangle(name)
		if want == name {
			require.ErrorIs(t, err, ErrMalformed, name)
			require.Empty(t, got)
			return
		}
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	})
}

// TestLibraryDefects shows why this package exists: github.com/ianlancetaylor/demangle prints 1.2 %
// of the names of real programs wrongly. If this test fails because the library is correct, count
// again: the package can be replaced by the library if the differences are fewer than 1 in 1,000.
func TestLibraryDefects(t *testing.T) {
	for _, c := range []struct{ name, want, library string }{
		// It reads the lengths of two empty identifiers, 00, as one number. It numbers nested
		// closures wrongly, loses the argument (), or rejects the name.
		{
			"_RNCNCNCNvC1a1f00s_0C1b", "a::f::{closure#0}::{closure#0}::{closure#1}",
			"a::f::{closure#0}::{closure#1}::{closure#0}",
		},
		{
			"_RINvC1a1gNCNCNvB2_1f00uE", "a::g::<a::f::{closure#0}::{closure#0}, ()>",
			"a::g::<a::f::{closure#0}::{closure#0}>",
		},
		{"_RNvNCNvNtC3std9panicking12default_hook011FIRST_PANIC", "std::panicking::default_hook::{closure#0}::FIRST_PANIC", ""},
		{"_RNCNvNCNvC1a1f04DATA0C1b", "a::f::{closure#0}::DATA::{closure#0}", "a::f::{closure:DATA#0}::::{closure#0}"},
		// It prints :: before an empty identifier, which constructors of tuple structs have.
		{"_RINvC1a1gNcNtB2_1V0E", "a::g::<a::V>", "a::g::<a::V::>"},
		// It rejects constants of 128 bits.
		{"_RINvC1a1fKnn80000000000000000000000000000000_E", "a::f::<-0x80000000000000000000000000000000>", ""},
	} {
		got, err := Demangle(c.name)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got)
		library, err := demangle.ToString(c.name, demangle.LLVMStyle)
		require.Equal(t, c.library, library, c.name)
		require.Equal(t, c.library == "", err != nil, c.name)
	}
}

// TestBombs checks back references that double the text each time, and deep nesting.
func TestBombs(t *testing.T) {
	_, err := Demangle(doubling(5))
	require.NoError(t, err)
	for _, name := range []string{
		doubling(30), "_R" + strings.Repeat("I", 100_000), "_RIC1x" + strings.Repeat("R", 100_000), "_RIC1xFGzzzzzzzzz_uE", "_RB_", "_RIB_E",
	} {
		_, err := Demangle(name)
		require.ErrorIs(t, err, ErrMalformed)
	}
}

// doubling returns a name with nested tuples, of which each contains the previous one twice.
func doubling(times int) string {
	name, at := "_RIC1xTuuE", len("IC1x")
	for range times {
		here := len(name) - len("_R")
		name += "T" + backTo(at) + backTo(at) + "E"
		at = here
	}
	return name + "E"
}

// backTo returns a back reference to an offset greater than 0.
func backTo(at int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	text := "_"
	for n := at - 1; ; n /= 62 {
		if text = digits[n%62:n%62+1] + text; n < 62 {
			return "B" + text
		}
	}
}

// FuzzDemangle checks that any string is either demangled within the limits or rejected.
func FuzzDemangle(f *testing.F) {
	cases(f, func(name, _ string) { f.Add(name) })
	f.Fuzz(func(t *testing.T, name string) {
		shown, err := Demangle(name)
		if err != nil {
			require.Empty(t, shown)
			return
		}
		require.NotEmpty(t, shown)
		require.LessOrEqual(t, len(shown), maxShown)
		require.True(t, utf8.ValidString(shown))
	})
}
