package itanium

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesAreBounded checks that names with exponentially long text, and deeply nested names, are
// rejected.
func TestNamesAreBounded(t *testing.T) {
	for what, name := range map[string]string{
		"doubled templates":  doubled(64),
		"doubled functions":  "_Z1fPFvvE" + strings.Repeat("PFS_S_E", 1) + chain("PFv%s%sE", 60),
		"pointers":           "_Z1f" + strings.Repeat("P", 1<<16) + "i",
		"template arguments": "_Z1f" + strings.Repeat("1AI", 1<<15) + "i" + strings.Repeat("E", 1<<15),
		"expressions":        "_Z1fIX" + strings.Repeat("ng", 1<<15) + "Li1EEEvv",
		"encodings":          "_Z" + strings.Repeat("Z", 1<<15) + "1fvE1x",
		"packs":              "_Z1fI" + strings.Repeat("J", 1<<15),
		"declarations":       "_ZNKUl" + strings.Repeat("Tp", 1<<15),
		"qualifiers":         "_Z1f" + strings.Repeat("U1a", 1<<15) + "i",
		"braces":             "_Z1fIXtl1A" + strings.Repeat("di1x", 1<<15),
		"base classes":       "_Z" + strings.Repeat("N1ACI1", 1<<14),
	} {
		t.Run(what, func(t *testing.T) {
			for _, mode := range []Mode{Full, Simple} {
				out, err := new(Demangler).Append(nil, name, mode)
				if err == nil {
					require.LessOrEqual(t, len(out), maxOutput(name))
					require.Equal(t, Simple, mode, "accepted in full: %.80s", out)
				} else if mode == Full {
					require.ErrorIs(t, err, ErrTooLarge)
				}
			}
		})
	}
}

// doubled returns a function with n parameters, each twice as long as the previous one:
// A<S_,S_>, A<S1_,S1_>, ….
func doubled(n int) string {
	return "_Z1f1AIiiE" + chain("1AI%s%sE", n)
}

// chain repeats a type that contains the previous one twice, by back references.
func chain(format string, n int) string {
	var b strings.Builder
	for i := range n {
		ref := "S" + strings.ToUpper(base36(2*i)) + "_"
		fmt.Fprintf(&b, format, ref, ref)
	}
	return b.String()
}

func base36(n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	if n < 36 {
		return digits[n : n+1]
	}
	return base36(n/36) + digits[n%36:n%36+1]
}

// TestPacksThatExpandNothing checks that nested expansions of empty packs are limited as well.
func TestPacksThatExpandNothing(t *testing.T) {
	name := "_Z1fIJiiiiiiiiEEv" + strings.Repeat("Dp1AIJ", 40) + "T_" + strings.Repeat("EE", 40)
	out, err := new(Demangler).Append(nil, name, Full)
	if err != nil {
		require.ErrorIs(t, err, ErrTooLarge)
	}
	require.LessOrEqual(t, len(out), maxOutput(name))
}

// TestCycles checks that malformed names whose forward references form a cycle end.
func TestCycles(t *testing.T) {
	for _, name := range []string{"_Zcv1BIRT_EIS1_E", "_ZN1AcvT_IS0_EEv", "_ZcvT_ILA_S0_EE", "_ZN1AcvRT_IS1_EEv", "_ZNcvOT_IS_EEv"} {
		for _, mode := range []Mode{Full, Simple} {
			_, err := new(Demangler).Append(nil, name, mode)
			require.NotErrorIs(t, err, ErrTooLarge, name)
		}
	}
}

// TestDemanglerForgets checks that a large name does not affect the next one, and that its memory
// is released.
func TestDemanglerForgets(t *testing.T) {
	const kept = 64 << 10 // nodes
	var d Demangler
	_, err := d.Append(nil, "_Z1f"+strings.Repeat("1AIiE", kept), Full)
	require.NoError(t, err)
	require.Greater(t, cap(d.parser.Nodes), kept)
	out, err := d.Append(nil, "_Z1fi", Full)
	require.NoError(t, err)
	require.Equal(t, "f(int)", string(out))
	require.LessOrEqual(t, cap(d.parser.Nodes), kept)
}
