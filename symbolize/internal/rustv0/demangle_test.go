package rustv0

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const casesFile = "testdata/cases.txt"

// cases calls f with each name and how it is shown; names that are refused are shown as they are.
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
	require.Greater(t, n, 100)
}

func TestAsLLVMDoes(t *testing.T) {
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

// TestEachZeroIsANumber: identifiers of no bytes stand in a row where closures are nested. ianlancetaylor/demangle takes
// their zeros for one number, numbers the closures wrongly and drops an argument ().
func TestEachZeroIsANumber(t *testing.T) {
	for name, want := range map[string]string{
		"_RNCNCNCNvC1a1f00s_0":      "a::f::{closure#0}::{closure#0}::{closure#1}",
		"_RINvC1a1gNCNCNvB2_1f00uE": "a::g::<a::f::{closure#0}::{closure#0}, ()>",
		"_RINvC1a1gNcNtB2_1V0E":     "a::g::<a::V>",
	} {
		got, err := Demangle(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
}

// TestBombs: references back that double the text each time, or nest without end.
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

// doubling is a name of a tuple of two of what came before, so many times.
func doubling(times int) string {
	name, at := "_RIC1xTuuE", len("IC1x")
	for range times {
		here := len(name) - len("_R")
		name += "T" + backTo(at) + backTo(at) + "E"
		at = here
	}
	return name + "E"
}

// backTo is a reference back to an offset above 0.
func backTo(at int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	text := "_"
	for n := at - 1; ; n /= 62 {
		if text = digits[n%62:n%62+1] + text; n < 62 {
			return "B" + text
		}
	}
}

// FuzzDemangle: any text is shown, in bounds, or refused.
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
