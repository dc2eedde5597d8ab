package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/printable"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Clean returns s with control and direction characters, line separators and invalid UTF-8 replaced
// by escapes. Names come from the input, which may be hostile to a terminal.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) || r == utf8.RuneError {
			b.WriteString(escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !printable.Rune(r) }

// escaped is a character by its number.
func escaped(r rune) string { return fmt.Sprintf(`\u%04x`, r) }

// maxWord is the number of characters of a path that a message shows.
const maxWord = 300

var longWord = regexp.MustCompile(fmt.Sprintf(`\S{%d,}`, maxWord+1))

// Message returns a message, which may quote the input, cleaned. It leaves out the middle of paths
// that are longer than any real one.
func Message(s string) string {
	return longWord.ReplaceAllStringFunc(Clean(s), func(word string) string { return Clip(word, maxWord) })
}

// Position is file:line with the last element of the path; empty if the file is not known.
func Position(file string, line int) string {
	if file == "" {
		return ""
	}
	return PositionIn(symbolize.FileName(file), line)
}

// PositionIn is name:line, for a file that is shown by a name.
func PositionIn(name string, line int) string {
	if line == 0 {
		return Clean(name)
	}
	return fmt.Sprintf("%s:%d", Clean(name), line)
}

// FirstRows are the rows that a table shows: the first top ones, or 20 if top is 0.
func FirstRows[T any](rows []T, top int) []T {
	if top <= 0 {
		top = 20
	}
	return rows[:min(top, len(rows))]
}
