package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/internal/units"
)

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.err = io.WriteString(p.w, line+"\n")
	}
}

// writeJSON writes an indented document.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Bytes shows a number of bytes with three significant digits: 512 B, 1.50 KiB, -20.0 MiB.
func Bytes(n int64) string { return bytesOf(float64(n)) }

func bytesOf(f float64) string { return units.Bytes(f) }

// signed puts a plus before growth.
func signed(f float64) string { return units.SignedBytes(f) }

// duration shows seconds: 46s, 12m30s, 3h5m.
func duration(seconds float64) string { return units.Duration(seconds) }

// sparks are the eight levels of a sparkline.
var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws values in at most width characters, from zero to the largest; moments
// that are not visible are blank.
func sparkline(values []int64, visible []bool, width int) string {
	n := len(values)
	width = min(width, n)
	var top int64 = 1
	for i, v := range values {
		if visible[i] {
			top = max(top, v)
		}
	}
	var b strings.Builder
	for c := range width {
		sum, seen := 0.0, 0
		for i := c * n / width; i < (c+1)*n/width; i++ {
			if visible[i] {
				sum, seen = sum+float64(values[i]), seen+1
			}
		}
		if seen == 0 {
			b.WriteRune(' ')
			continue
		}
		level := int(math.Round(sum / float64(seen) / float64(top) * float64(len(sparks)-1)))
		b.WriteRune(sparks[min(max(level, 0), len(sparks)-1)])
	}
	return b.String()
}

// clean makes a name from hostile input safe for a terminal: control and
// direction characters and separators of lines are shown as their escapes.
func clean(s string) string {
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

// clip shortens a name in the middle, where templates are longest.
func clip(s string, width int) string {
	s = clean(s)
	n := utf8.RuneCountInString(s)
	if n <= width {
		return s
	}
	r := []rune(s)
	head := (width - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[n-(width-1-head):])
}

// pad fills with blanks on the right to a width in characters.
func pad(s string, width int) string {
	if n := utf8.RuneCountInString(s); n < width {
		return s + strings.Repeat(" ", width-n)
	}
	return s
}

// position is file:line with the last element of the path.
func position(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return clean(path.Base(file))
	}
	return fmt.Sprintf("%s:%d", clean(path.Base(file)), line)
}

// firstRows are those that a table shows: top of them, 20 if that is not given.
func firstRows[T any](rows []T, top int) []T {
	if top <= 0 {
		top = 20
	}
	return rows[:min(top, len(rows))]
}

// plural is "1 snapshot", "24 snapshots".
func plural(n int, what string) string { return units.Count(n, what) }

// Finite replaces what JSON cannot hold.
func Finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
