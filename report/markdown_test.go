package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMarkdownOfHostileNames: a name cannot end its cell or its code, make a heading, a link, HTML, or notify anybody.
func TestMarkdownOfHostileNames(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":                    `a\|b`,
		"<img src=x>":            "&lt;img src=x&gt;",
		"# *x* _y_ `z` ~q~":      "\\# \\*x\\* \\_y\\_ \\`z\\` \\~q\\~",
		"[text](http://x)":       `\[text\](http://x)`,
		"@somebody":              "@\u200bsomebody",
		"two\nlines\u202e":       `two\\u000alines\\u202e`,
		"a && b":                 "a &amp;&amp; b",
		`back\slash`:             `back\\slash`,
		"operator|=(Flags, int)": `operator\|=(Flags, int)`,
	} {
		require.Equal(t, want, escapeMarkdown(in))
	}
	code := codeMarkdown("f`|<b>\n`")
	require.Equal(t, "`f'\\|<b>\\u000a'`", code)
	require.Equal(t, 2, strings.Count(code, "`"))
	require.NotRegexp(t, regexp.MustCompile(`[<>]`), escapeHTML("</summary><script>"))
}

// TestMarkdownNamesAFrameWithoutFunction by its place in its module, as everywhere.
func TestMarkdownNamesAFrameWithoutFunction(t *testing.T) {
	require.Equal(t, "libx.so+0x12", frameLine(Frame{Address: "0x7f12", Module: "/usr/lib/libx.so", Offset: "0x12"}))
	require.Equal(t, "0x7f12", frameLine(Frame{Address: "0x7f12"}))
	require.Equal(t, "f  a.cc:3", frameLine(Frame{Function: "f", Module: "/usr/lib/libx.so", File: "/src/a.cc", Line: 3}))
	require.Equal(t, "f  libx.so", frameLine(Frame{Function: "f", Module: "/usr/lib/libx.so"}))
}
