package suppress_test

import (
	"testing"
	"time"

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
