package text

import "strings"

// Style is how text looks on a terminal. The zero value is plain text of any width.
type Style struct {
	// Width is that of the terminal in columns; 0 for none.
	Width int
	// Color marks verdicts and the heads of tables.
	Color bool
	// URL returns the address of a line of a source file, or "" if the file is not at hand. It may
	// be nil: then there are no links.
	URL func(file string, line int) string
}

// Rendition is the parameter of the control sequence SGR of ECMA-48.
type Rendition string

// The renditions of texts.
const (
	Strong Rendition = "1"
	Red    Rendition = "1;31"
	Green  Rendition = "32"
	Yellow Rendition = "33"
)

// Head returns the head of a table.
func (s Style) Head(line string) string {
	line = strings.TrimRight(line, " ")
	return s.Paint(line, line, Strong)
}

// Paint returns a line with the first occurrence of a word in a rendition.
func (s Style) Paint(line, word string, r Rendition) string {
	if !s.Color || word == "" || r == "" {
		return line
	}
	return strings.Replace(line, word, "\x1b["+string(r)+"m"+word+"\x1b[0m", 1)
}

// Links are the source files of the places that a text may name. The zero value has none.
type Links struct {
	url   func(file string, line int) string
	files map[string]place
}

type place struct {
	file string
	line int
}

// NewLinks returns the links of a style, without places.
func NewLinks(s Style) Links {
	if s.URL == nil {
		return Links{}
	}
	return Links{s.URL, map[string]place{}}
}

// Wanted reports whether places are worth adding.
func (l Links) Wanted() bool { return l.url != nil }

// Add adds a place. Two files of the same name, which are different places with the same text, get
// no link.
func (l Links) Add(file string, line int) {
	if !l.Wanted() || file == "" || line <= 0 {
		return
	}
	key, p := Position(file, line), place{file, line}
	if known, ok := l.files[key]; ok && known != p {
		p = place{}
	}
	l.files[key] = p
}

// In returns a line in which the places are links, by the control sequence OSC 8.
func (l Links) In(line string) string {
	if !l.Wanted() {
		return line
	}
	words := strings.Split(line, " ")
	for i, word := range words {
		name := strings.Trim(word, "(),;:")
		if p := l.files[name]; p.file != "" {
			if url := l.url(p.file, p.line); url != "" {
				words[i] = strings.Replace(word, name, "\x1b]8;;"+url+"\x1b\\"+name+"\x1b]8;;\x1b\\", 1)
			}
		}
	}
	return strings.Join(words, " ")
}
