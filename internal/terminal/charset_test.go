package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocales(t *testing.T) {
	for _, c := range []struct {
		locale             string
		terminal, anywhere bool
	}{
		{"", false, true},
		{"C", false, true},
		{"POSIX", false, true},
		{"en_US", false, true},
		{"C.UTF-8", true, true},
		{"C.utf8", true, true},
		{"de_DE.UTF-8@euro", true, true},
		{"de_DE.ISO-8859-15@euro", false, false},
		{"ja_JP.eucJP", false, false},
	} {
		require.Equal(t, c.terminal, utf8Locale(c.locale, true), "terminal, %q", c.locale)
		require.Equal(t, c.anywhere, utf8Locale(c.locale, false), "no terminal, %q", c.locale)
	}
}

// TestLocaleOrder: LC_ALL precedes LC_CTYPE, which precedes LANG; empty values do not count.
func TestLocaleOrder(t *testing.T) {
	env := map[string]string{"LANG": "C.UTF-8"}
	getenv := func(name string) string { return env[name] }
	require.True(t, UTF8(nil, getenv))
	env["LC_CTYPE"] = "de_DE.ISO-8859-1"
	require.False(t, UTF8(nil, getenv))
	env["LC_ALL"] = "C.UTF-8"
	require.True(t, UTF8(nil, getenv))
	env["LC_ALL"] = ""
	require.False(t, UTF8(nil, getenv))
}
