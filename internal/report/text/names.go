package text

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a name from hostile input safe for a terminal: control and
// direction characters and separators of lines are shown as their escapes.
func Clean(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) || r == utf8.RuneError {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Clip shortens a name in the middle, where templates are longest.
func Clip(s string, width int) string {
	s = Clean(s)
	n := utf8.RuneCountInString(s)
	if n <= width {
		return s
	}
	r := []rune(s)
	head := (width - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[n-(width-1-head):])
}

// pad fills with blanks on the right to a width in characters.
func Pad(s string, width int) string {
	if n := utf8.RuneCountInString(s); n < width {
		return s + strings.Repeat(" ", width-n)
	}
	return s
}

// position is file:line with the last element of the path.
func Position(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return Clean(path.Base(file))
	}
	return fmt.Sprintf("%s:%d", Clean(path.Base(file)), line)
}

// firstRows are those that a table shows: top of them, 20 if that is not given.
func FirstRows[T any](rows []T, top int) []T {
	if top <= 0 {
		top = 20
	}
	return rows[:min(top, len(rows))]
}
