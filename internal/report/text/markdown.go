package text

import (
	"fmt"
	"strings"
	"unicode"
)

// joinedWith joins what is not empty.
func JoinedWith(separator string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, separator)
}

// code shows a name as it is, whatever it holds. A code span does, but for the characters that end it or a cell of a table.
func Code(name string, width int) string {
	name = Clip(name, width)
	if name == "" {
		return ""
	}
	if strings.ContainsAny(name, "`|\\") || strings.TrimSpace(name) != name {
		return "<code>" + EscapeMarkdown(name) + "</code>"
	}
	return "`" + name + "`"
}

// htmlCode is code within HTML, where a code span is not known.
func HtmlCode(name string) string { return "<code>" + EscapeMarkdown(name) + "</code>" }

// escapeMarkdown writes every character that Markdown or HTML may read as markup as a character reference, which neither
// does (CommonMark 0.31, section 2.5), and breaks what GitHub makes links, mentions, formulas and pictures of.
func EscapeMarkdown(s string) string {
	var b strings.Builder
	r := []rune(Clean(s))
	for i, c := range r {
		emoji := c == ':' && i+1 < len(r) && !unicode.IsSpace(r[i+1]) && !unicode.IsDigit(r[i+1])
		www := c == '.' && i > 0 && (r[i-1] == 'w' || r[i-1] == 'W')
		if emoji || www || strings.ContainsRune("<>&\"`|\\*_[]#~@$", c) {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// sentence is a text as one of Markdown.
func Sentence(s string) string { return EscapeMarkdown(strings.TrimSuffix(s, ".")) + "." }
