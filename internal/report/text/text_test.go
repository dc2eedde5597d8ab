package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestSparklineFitsItsWidthAndShowsGaps(t *testing.T) {
	values, visible := make([]int64, 100), make([]bool, 100)
	for i := range values {
		values[i], visible[i] = int64(i), i >= 50
	}
	s := Sparkline(values, visible, 20)
	require.Equal(t, 20, utf8.RuneCountInString(s))
	require.True(t, strings.HasPrefix(s, strings.Repeat(" ", 10)), "hidden values are blank")
	require.True(t, strings.HasSuffix(s, "█"))
	require.Equal(t, "▁▁▁", Sparkline([]int64{0, 0, 0}, []bool{true, true, true}, 24))
}

// TestHostileNamesAreEscaped: the names in a snapshot are untrusted.
func TestHostileNamesAreEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain<T>":          "plain<T>",
		"naïve::größe":      "naïve::größe",
		"a\x1b[31mred":      `a\u001b[31mred`,
		"line\nbreak\ttab":  `line\u000abreak\u0009tab`,
		"rtl\u202eoverride": `rtl\u202eoverride`,
		"bad\xffutf8":       `bad\ufffdutf8`,
		"c1\u009b31m":       `c1\u009b31m`,
		"two\u2028lines":    `two\u2028lines`,
	} {
		require.Equal(t, want, Clean(in))
	}
}

func TestClipKeepsBothEnds(t *testing.T) {
	long := "begin" + strings.Repeat("x", 10000) + "end"
	got := Clip(long, 40)
	require.Equal(t, 40, utf8.RuneCountInString(got))
	require.True(t, strings.HasPrefix(got, "begin"))
	require.True(t, strings.HasSuffix(got, "end"))
	require.Equal(t, "short", Clip("short", 40))
}

func TestFromToOfOneSnapshot(t *testing.T) {
	require.Equal(t, "5.72 MiB", FromTo(6000000, 6000000, 1))
	require.Equal(t, "5.72 MiB → 5.72 MiB", FromTo(6000000, 6000000, 2))
}
