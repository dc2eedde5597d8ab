// Package terminal draws on terminals: whole screens that are replaced in place, and progress bars.
package terminal

import (
	"bytes"
	"fmt"
	"io"

	"golang.org/x/term"
)

// file is a writer with a descriptor, such as os.Stdout.
type file interface {
	io.Writer
	Fd() uintptr
}

// Is reports whether a writer is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(file)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of a terminal in characters, and 0 if the writer is not a terminal.
func Width(w io.Writer) int {
	f, ok := w.(file)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

// Line is one line of a screen, without its end.
type Line struct {
	Text string
	// Rendition is the parameter of the control sequence SGR of ECMA-48, such as "1;31" for bold
	// red. It may be empty.
	Rendition string
}

// Screen draws on the alternate screen of a terminal. The previous content comes back when it is
// closed.
type Screen struct {
	out    file
	colour bool
	utf8   bool
}

// NewScreen returns nil if the writer is not a terminal, or one that cannot draw in place. The
// function returns the values of environment variables: TERM, NO_COLOR and the
// locale count.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	if !Is(w) || getenv("TERM") == "dumb" {
		return nil
	}
	return &Screen{out: w.(file), colour: getenv("NO_COLOR") == "", utf8: UTF8(w, getenv)}
}

// Control sequences of ECMA-48, and xterm's private modes 1049 (alternate screen), 25 (cursor) and
// 7 (wrapping of long lines).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	clearToEOL  = "\x1b[K"
	clearToEnd  = "\x1b[J"
)

// UTF8 reports whether the terminal takes UTF-8.
func (s *Screen) UTF8() bool { return s.utf8 }

// Open switches to the alternate screen.
func (s *Screen) Open() error { return s.write(enterScreen) }

// Close switches back.
func (s *Screen) Close() error { return s.write(leaveScreen) }

func (s *Screen) write(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// Size returns the present size of the terminal in characters, or 80×24 if it is not known.
func (s *Screen) Size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Draw replaces the content of the screen. It writes once, so that nothing flickers.
func (s *Screen) Draw(lines []Line) error {
	var b bytes.Buffer
	b.WriteString(cursorHome)
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		// Behind a line that is as wide as the terminal, these would clear its last character.
		if i == len(lines)-1 {
			b.WriteString(clearToEnd)
		} else {
			b.WriteString(clearToEOL)
		}
		if l.Rendition != "" && s.colour {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", l.Rendition, l.Text)
		} else {
			b.WriteString(l.Text)
		}
	}
	return s.write(b.String())
}
