package text

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Width returns the number of columns that s takes on a terminal. A wide character of East Asian
// scripts takes two, and a combining mark none.
func Width(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Clip returns s cleaned and shortened to a width in columns. It leaves out the middle, where
// template arguments are. The result is one column narrower if a wide character does not fit.
func Clip(s string, width int) string {
	s = Clean(s)
	if Width(s) <= width {
		return s
	}
	head := (width - 1) * 2 / 3
	return firstColumns(s, head) + "…" + lastColumns(s, width-1-head)
}

// ClipEnd returns s cleaned and shortened to a width in columns. It leaves out the end.
func ClipEnd(s string, width int) string {
	s = Clean(s)
	if Width(s) <= width {
		return s
	}
	return firstColumns(s, width-1) + "…"
}

// ClipName returns the name of a function cleaned and shortened to a width in columns. It leaves
// out arguments of templates, the innermost ones first, as long as that is necessary, and then the
// middle: Registry<std::map<int, long>>::add becomes Registry<std::map<…>>::add or
// Registry<…>::add.
func ClipName(name string, width int) string {
	name = Clean(name)
	short, deepest := name, strings.Count(name, "<")
	for level := min(deepest, maxNesting) - 1; level >= 0 && Width(short) > width; level-- {
		short = withoutArguments(name, level)
	}
	return Clip(short, width)
}

// maxNesting bounds the time for hostile names.
const maxNesting = 16

// withoutArguments is a name without what is in more than a number of angle brackets. The brackets
// at the start of <T as Trait>::f do not count. A name whose brackets do not match is returned as
// it is.
func withoutArguments(name string, level int) string {
	if strings.HasPrefix(name, "<") {
		level++
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		n := operatorLength(name[i:])
		switch {
		case n > 0 || strings.HasPrefix(name[i:], "->"):
			n = max(n, 2)
			if depth <= level {
				b.WriteString(name[i : i+n])
			}
			i += n - 1
			continue
		case name[i] == '>':
			depth--
		}
		if depth < 0 {
			return name
		}
		if depth <= level {
			b.WriteByte(name[i])
		}
		if name[i] == '<' {
			if depth++; depth == level+1 {
				b.WriteString("…")
			}
		}
	}
	if depth != 0 {
		return name
	}
	return b.String()
}

// operatorLength is the length of a name such as operator<<, which a string begins with, else 0.
func operatorLength(s string) int {
	const word = "operator"
	if !strings.HasPrefix(s, word) {
		return 0
	}
	rest := strings.TrimLeft(s[len(word):], "<>=-")
	return len(s) - len(rest)
}

// firstColumns is the longest beginning of s that fits a width in columns.
func firstColumns(s string, width int) string {
	used, end := 0, 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > width {
			break
		}
		_, end = g.Positions()
	}
	return s[:end]
}

// lastColumns is the longest end of s that fits a width in columns.
func lastColumns(s string, width int) string {
	used, start := 0, 0
	first := uniseg.NewGraphemes(s) // the cluster before start
	for g := uniseg.NewGraphemes(s); g.Next(); {
		for used += g.Width(); used > width; used -= first.Width() {
			first.Next()
			_, start = first.Positions()
		}
	}
	return s[start:]
}

// Pad appends blanks to s up to a width in columns.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(width-Width(s), 0)) }

// leastTitle is the least width of a title beside its place, in columns.
const leastTitle = 20

// Fit is a title and a place in a width in columns, with the middle left out if that is necessary.
// A width of 0 has no limit.
func Fit(title, place string, width int) string {
	line := Join("  ", title, place)
	room := width - Width(place) - 2
	switch {
	case width <= 0 || Width(line) <= width:
		return line
	case place != "" && room >= leastTitle:
		return ClipName(title, room) + "  " + place
	}
	return ClipName(line, width)
}

const (
	// roomyName is the width of a name below which it gets a line of its own if it does not fit.
	roomyName = 60
	// Indent is that of the lines below a row.
	Indent = "     "
)

// PathWidth is the width of a call path on a terminal, in columns; 0 without one. Narrow terminals
// get it in several lines.
func PathWidth(terminal int) int {
	if terminal <= 0 {
		return 0
	}
	return max(terminal, roomyName) - len(Indent)
}

// Row is a row of a table in a width in columns: its numbers, and the title and place behind them
// or on a line of their own. A width of 0 has no limit.
func Row(numbers, title, place string, width int) []string {
	if width <= 0 {
		return []string{numbers + Fit(title, place, 0)}
	}
	room := width - Width(numbers)
	whole := Width(Fit(title, place, 0))
	if room >= roomyName || whole <= room {
		return []string{numbers + Fit(title, place, room)}
	}
	lines := []string{Clip(strings.TrimRight(numbers, " "), width)}
	if room = width - len(Indent); room < roomyName && whole > room && place != "" {
		return append(lines, Indent+ClipName(title, room), Indent+Clip(place, room))
	}
	return append(lines, Indent+Fit(title, place, room))
}
