package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	growthreport "github.com/heaplapse/heaplapse/internal/report/growth"
)

// terminal shows whole screens in place, on the terminal's alternate screen: what was there before comes back.
type terminal struct {
	out    *os.File
	colour bool
}

// newTerminal returns nil where the writer is no terminal that can do so.
func newTerminal(w io.Writer, getenv func(string) string) *terminal {
	if !isTerminal(w) || getenv("TERM") == "dumb" {
		return nil
	}
	return &terminal{w.(*os.File), getenv("NO_COLOR") == ""}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Control sequences of ECMA-48, and xterm's private modes 1049 (alternate screen), 25 (cursor) and 7 (wrapping of long lines).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	clearToEOL  = "\x1b[K"
	clearToEnd  = "\x1b[J"
)

// styles are the renditions of report's styles.
var styles = map[growthreport.Style]string{
	growthreport.StyleFaint: "2", growthreport.StyleStrong: "1", growthreport.StyleLeak: "1;31", growthreport.StyleNoLeak: "1;32", growthreport.StyleUndecided: "1;33",
}

// width is that of the terminal that results go to, in characters; 0 if they go elsewhere.
func (a *app) width() int {
	f, ok := a.out.(*os.File)
	if !ok || a.output != "" && a.output != "-" {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

func (t *terminal) enter() error { return t.write(enterScreen) }
func (t *terminal) leave() error { return t.write(leaveScreen) }

func (t *terminal) write(s string) error {
	_, err := io.WriteString(t.out, s)
	return err
}

// size is that of the terminal now, and of a usual one where it does not tell.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// draw replaces what is shown, in one write so that nothing flickers.
func (t *terminal) draw(lines []growthreport.ScreenLine) error {
	var b bytes.Buffer
	b.WriteString(cursorHome)
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if code := styles[l.Style]; code != "" && t.colour {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", code, l.Text)
		} else {
			b.WriteString(l.Text)
		}
		b.WriteString(clearToEOL)
	}
	b.WriteString(clearToEnd)
	return t.write(b.String())
}
