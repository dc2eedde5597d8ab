package help

import (
	"regexp"
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/text"
)

// fit breaks a text of the help for the terminal. Paragraphs are filled anew. Lines that are
// indented are examples or items of a list, each with a description after two or more blanks.
func (p Printer) fit(s string) string {
	width := p.width()
	if width == HelpWidth {
		return s
	}
	var out, paragraph []string
	fill := func() {
		out = append(out, text.Folded(strings.Join(paragraph, " "), width, "")...)
		paragraph = nil
	}
	for _, line := range joined(strings.Split(s, "\n")) {
		switch {
		case line == "":
			fill()
			out = append(out, "")
		case line[0] == ' ':
			fill()
			out = append(out, fitItem(line, width)...)
		default:
			paragraph = append(paragraph, line)
		}
	}
	fill()
	return strings.Join(out, "\n")
}

// item breaks the line of an item for the terminal.
func (p Printer) item(line string) []string { return fitItem(line, p.width()) }

// joined adds the lines that continue a description to the line of its item.
func joined(lines []string) (out []string) {
	const column = 12 // descriptions begin after it
	for _, line := range lines {
		words := strings.TrimLeft(line, " ")
		last := len(out) - 1
		if words != "" && len(line)-len(words) > column && last >= 0 && strings.HasPrefix(out[last], " ") {
			out[last] += " " + words
		} else {
			out = append(out, line)
		}
	}
	return out
}

// itemLine matches an item and its description, as in `  heaplapse growth DIR    what grows`.
var itemLine = regexp.MustCompile(`^( *\S.*?  +)(\S.*)$`)

// fitItem breaks the line of an item. The description stays in its column if there is room, and
// else is below the item.
func fitItem(line string, width int) []string {
	const least = 24 // columns of a description
	if text.Width(line) <= width {
		return []string{line}
	}
	m := itemLine.FindStringSubmatch(line)
	if m == nil {
		return foldItem(line, width)
	}
	if column := text.Width(m[1]); width-column >= least {
		blanks := strings.Repeat(" ", column)
		lines := text.Folded(m[2], width-column, "")
		for i := range lines {
			lines[i] = blanks + lines[i]
		}
		lines[0] = m[1] + strings.TrimLeft(lines[0], " ")
		return lines
	}
	lines := foldItem(strings.TrimRight(m[1], " "), width)
	for _, l := range text.Folded(m[2], width-8, "") {
		lines = append(lines, "        "+l)
	}
	return lines
}

// foldItem breaks an indented line, whose rest is indented by four columns more.
func foldItem(line string, width int) []string {
	words := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(words)]
	lines := text.Folded(words, width-len(indent), "    ")
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}
