package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// LeastWidth is the least width of a terminal that texts are made for, in columns.
const LeastWidth = 40

// Wrap breaks the lines of a text that are wider than a terminal, at blanks. The rest of a line is
// indented by two columns more than its beginning. A width of 0 has no limit.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	width = max(width, LeastWidth)
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		wrapLine(&b, line, width)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Fitted is a text in lines of a width in columns, 0 for no limit, and in ASCII unless UTF-8 is
// taken.
func Fitted(text string, width int, utf8 bool) string {
	if !utf8 {
		text = ASCII(text)
	}
	return Wrap(text, width)
}

// sequence matches what takes no column: renditions and the two ends of a hyperlink.
var sequence = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\")

func visibleWidth(s string) int {
	if strings.Contains(s, "\x1b") {
		s = sequence.ReplaceAllString(s, "")
	}
	return Width(s)
}

func wrapLine(b *strings.Builder, line string, width int) {
	if visibleWidth(line) <= width {
		b.WriteString(line)
		return
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	hanging := indent[:min(len(indent), width/4)] + "  "
	used, blanks := 0, indent
	for i, word := range strings.Split(line[len(indent):], " ") {
		if i > 0 {
			blanks += " "
		}
		if word == "" {
			continue
		}
		n := visibleWidth(word)
		if used > 0 && used+len(blanks)+n > width {
			b.WriteString("\n")
			used, blanks = 0, hanging
		}
		b.WriteString(blanks + word)
		used, blanks = used+len(blanks)+n, ""
	}
}

// Folded breaks a text into lines of a width in columns. All lines but the first begin with
// hanging.
func Folded(s string, width int, hanging string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		next := Join(" ", line, word)
		if line != "" && Width(next) > width {
			lines = append(lines, line)
			next = hanging + word
		}
		line = next
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// replacements are what ASCII has instead of the characters that texts use.
var replacements = strings.NewReplacer(
	"▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#",
	"→", "->", "←", "<", "…", "~", " · ", " | ", "·", "|", "–", "-", "×", "x",
	"≥", ">", "≤", "<", "≈", "~", "Δ", "D", "µ", "u",
)

// ASCII replaces what a terminal without UTF-8 cannot show: symbols by similar ones, and letters of
// names by their numbers.
func ASCII(text string) string {
	if isASCII(text) {
		return text
	}
	text = replacements.Replace(text)
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	return b.String()
}
