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

// TestClipNameKeepsTheFunction: what is left out first are arguments of templates, the innermost ones first.
func TestClipNameKeepsTheFunction(t *testing.T) {
	const name = "shop::Registry<std::map<std::string, std::vector<int>>, long>::observe<std::tuple<int>>"
	for width, want := range map[int]string{
		100: name,
		86:  "shop::Registry<std::map<std::string, std::vector<…>>, long>::observe<std::tuple<int>>",
		70:  "shop::Registry<std::map<…>, long>::observe<std::tuple<…>>",
		40:  "shop::Registry<…>::observe<…>",
		20:  "shop::Regist…erve<…>",
	} {
		require.Equal(t, want, ClipName(name, width), width)
	}
	for name, want := range map[string]string{
		"<alloc::raw_vec::RawVec<shop::Order> as core::fmt::Debug>::fmt":  "<alloc::raw_vec::RawVec<…> as core::fmt::Debug>::fmt",
		"operator<< <std::char_traits<char>, std::allocator<char>, int>":  "operator<< <…>",
		"shop::Order::operator->*<std::char_traits<char>, a::B<char> >":   "shop::Order::operator->*<…>",
		"decltype (a->b) shop::f<std::vector<std::pair<int, long> > >()":  "decltype (a->b) shop::f<std::vector<…> >()",
		"outer_factory.<locals>.inner_factory.<locals>.tf__train_step_a":  "outer_factory.<…>.inner_factory.<…>.tf__train_step_a",
		"shop::less<(N < 5), std::vector<std::pair<int, long>>, shop::T>": "shop::less<(N < 5), std::vector<st… long>>, shop::T>",
	} {
		require.Equal(t, want, ClipName(name, 52), name)
	}
}

// FuzzClipName: the result fits, and a name that fits is unchanged.
func FuzzClipName(f *testing.F) {
	for _, name := range []string{"f", "std::map<int, std::map<int, long> >::f", "<A as B<C>>::f", "operator<<", "a->b", "<<<>", ">>", "名<前>", "\x1b<\xff>"} {
		f.Add(name, 12)
	}
	f.Fuzz(func(t *testing.T, name string, width int) {
		width = 2 + max(0, width)%200
		got := ClipName(name, width)
		require.LessOrEqual(t, Width(got), width)
		if Width(Clean(name)) <= width {
			require.Equal(t, Clean(name), got)
		}
	})
}

func TestFromToOfOneSnapshot(t *testing.T) {
	require.Equal(t, "5.72 MiB", FromTo(6000000, 6000000, 1))
	require.Equal(t, "5.72 MiB → 5.72 MiB", FromTo(6000000, 6000000, 2))
}
