package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, separator)
}

// And lists words, as in "1, 2 and 5".
func And(words ...string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Sentences are texts as sentences. Empty ones are left out.
func Sentences(parts ...string) string {
	for i, p := range parts {
		if p != "" {
			first, size := utf8.DecodeRuneInString(p)
			parts[i] = string(unicode.ToUpper(first)) + strings.TrimSuffix(p[size:], ".") + "."
		}
	}
	return Join(" ", parts...)
}

// Code is a name, shortened to a width, as Markdown code. A name with characters that end a code
// span or a table cell is written in HTML instead.
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

// HTMLCode is a name as code inside HTML, where Markdown has no code spans.
func HTMLCode(name string) string { return "<code>" + EscapeMarkdown(name) + "</code>" }

// EscapeMarkdown replaces the characters that Markdown or HTML may interpret by character
// references (CommonMark 0.31, section 2.5). It also breaks what GitHub turns into links, mentions,
// formulas and emoji.
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

// Sentence is s as a sentence in Markdown.
func Sentence(s string) string { return EscapeMarkdown(strings.TrimSuffix(s, ".")) + "." }
