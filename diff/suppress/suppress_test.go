package suppress_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/suppress"
)

var today = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"foo", "ns::foo_bar", true},
		{"^foo", "ns::foo", false},
		{"^ns::*bar$", "ns::foo_bar", true},
		{"libgl*.so", "/usr/lib/libglfw.so.3", true},
		{"f(int)", "f(int)", true},
		{"f.o", "foo", false},
	} {
		l, err := suppress.Parse("leak:"+c.pattern+"\n", "s.txt", today)
		require.NoError(t, err)
		require.Equal(t, c.want, l.Find([]string{c.name}) != nil, "%s on %s", c.pattern, c.name)
	}
}

func TestLastDay(t *testing.T) {
	text := "# until 2026-06-15: next release\nleak:a\n\n# until 2026-06-14\nleak:b\n# known\nleak:c\n"
	l, err := suppress.Parse(text, "s.txt", today)
	require.NoError(t, err)
	require.Equal(t, "next release", l.Find([]string{"a"}).Reason)
	require.Nil(t, l.Find([]string{"b"}))
	require.Equal(t, 5, l.Expired[0].Line)
	require.Equal(t, "known", l.Find([]string{"c"}).Reason)
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"leak:a\nrace:b\n":         `s.txt:2: want leak:PATTERN, found "race:b"`,
		"# until tomorrow\nleak:a": `s.txt:1: "tomorrow" is not a date: want until YYYY-MM-DD`,
		"leak:":                    `s.txt:1: want leak:PATTERN`,
	} {
		_, err := suppress.Parse(text, "s.txt", today)
		require.ErrorContains(t, err, want)
	}
}

// FuzzParse: Parse returns an error with file and line, or entries that are in the text.
func FuzzParse(f *testing.F) {
	f.Add("# until 2026-12-31: fixed soon\nleak:foo_*\n\nleak:^main$\n", "foo_bar")
	f.Add("leak:***a***b***$\n# until never\n", "ab")
	f.Add("leak:\nrace:x", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		list, err := suppress.Parse(text, "my.supp", now)
		if err != nil {
			require.Nil(t, list)
			require.Regexp(t, `^my\.supp:[1-9][0-9]*: `, err.Error())
			return
		}
		for _, e := range slices.Concat(list.Entries, list.Expired) {
			require.Contains(t, text, e.Pattern)
			require.NotEmpty(t, e.Pattern)
		}
		for _, e := range list.Expired {
			require.True(t, e.Until.Before(now))
		}
		for _, e := range list.Entries {
			m, err := suppress.Compile(e.Pattern)
			require.NoError(t, err)
			plain := !strings.ContainsAny(e.Pattern, "*^$") && utf8.ValidString(name) // texts show other bytes as U+FFFD
			if plain {
				require.Equal(t, strings.Contains(name, e.Pattern), m.MatchAny([]string{name}), "%q in %q", e.Pattern, name)
			}
		}
	})
}
