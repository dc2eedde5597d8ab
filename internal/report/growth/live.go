package growth

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Live is the growth of a series that is still being written, at one moment.
type Live struct {
	*Report
	// Path is what is watched.
	Path string
	// Took is how long it took to read and judge.
	Took time.Duration
	// Warnings is their number: there is no room for them.
	Warnings int
}

// ScreenLine is a line of a terminal, without its end.
type ScreenLine struct {
	Text  string
	Style Style
}

// Style is how a line is set off from others, where the terminal has colours.
type Style uint8

// Styles.
const (
	StylePlain Style = iota
	StyleFaint
	StyleStrong
	StyleLeak
	StyleNoLeak
	StyleUndecided
)

// Line is the moment on one line, for logs: the time of the last snapshot, how many there are, heap, RSS, verdict, and the
// worst site.
func (l *Live) Line() string {
	heads := l.Series.Heads
	last := len(heads) - 1
	parts := []string{
		fmt.Sprintf("%s  %12s  heap %8s  RSS %8s  %-9s", l.lastTime().UTC().Format(time.RFC3339), units.Count(len(heads), "snapshot"),
			units.Bytes(heads[last].Heap().InuseBytes), l.residentText(last), l.verdictText()),
	}
	if len(l.Result.Sites) > 0 {
		worst := &l.Result.Sites[0]
		site, where := l.viewer().Title(worst.Members[0])
		parts = append(parts, strings.TrimSpace(site+" "+where)+"  "+units.SignedBytes(worst.Gained))
		if unit, factor := l.rateUnit(); worst.Slope != 0 {
			parts = append(parts, units.SignedBytes(worst.Slope*factor)+" per "+unit)
		}
	}
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}

// verdictText is the verdict, and of a leak how sure it is.
func (l *Live) verdictText() string {
	text := string(l.Result.Verdict)
	if l.Result.Verdict == growth.VerdictLeak {
		text += fmt.Sprintf(" %.0f%%", 100*l.Result.Sites[0].Confidence)
	}
	return text
}

// lastTime is when the last snapshot was taken, as far as that is known.
func (l *Live) lastTime() time.Time {
	last := len(l.Series.Heads) - 1
	if l.Series.Clock.Source.IsTime() {
		return l.Series.Clock.Times[last]
	}
	return l.Series.Heads[last].Modified
}

func (l *Live) residentText(k int) string {
	rss, ok := l.Series.ResidentAt(k)
	if !ok {
		return "-"
	}
	return units.Bytes(rss)
}

// Screen is the moment on a terminal of this size.
func (l *Live) Screen(width, height int, now time.Time) ([]ScreenLine, error) {
	lines := append(l.top(now), ScreenLine{})
	l.Width = width
	defer func() { l.Width = 0 }()
	lines = append(lines, ScreenLine{l.headline(), styleOf(l.Result.Verdict)}, ScreenLine{Text: l.summary()})
	if limit := l.limitLine(); limit != "" {
		lines = append(lines, ScreenLine{Text: limit})
	}
	lines = append(append(lines, l.curves(width)...), ScreenLine{})
	table, err := l.sites()
	if err != nil {
		return nil, err
	}
	lines = append(lines, table...)
	if room := height - 2; len(lines) > room && room > 0 {
		lines = append(lines[:room-1:room-1], ScreenLine{fmt.Sprintf("… %d more lines: heaplapse growth %s", len(lines)-room+1, text.Clean(l.Path)), StyleFaint})
	}
	for len(lines) < height-1 {
		lines = append(lines, ScreenLine{})
	}
	lines = append(lines, l.bottom())
	for i := range lines {
		lines[i].Text = fit(lines[i].Text, width)
	}
	return lines[:min(len(lines), max(height, 1))], nil
}

func (l *Live) top(now time.Time) []ScreenLine {
	who := l.Path
	if p := l.Series.Process; p.PID != 0 {
		who += " · " + p.Title()
	}
	if n := len(l.Series.Others); n > 0 {
		who += fmt.Sprintf(" · %d of %d processes", 1, n+1)
	}
	ago := ""
	if age := now.Sub(l.lastTime()); age >= 0 && age < 1000*time.Hour {
		ago = fmt.Sprintf("the last snapshot is %s old", units.Duration(age.Truncate(time.Second).Seconds()))
	}
	return []ScreenLine{{"heaplapse watch " + text.Clean(who), StyleStrong}, {ago, StyleFaint}}
}

// curves draw the heap and the resident set.
func (l *Live) curves(width int) []ScreenLine {
	heap := make([]int64, len(l.Series.Heads))
	rss, known := make([]int64, len(heap)), make([]bool, len(heap))
	all := make([]bool, len(heap))
	for i, h := range l.Series.Heads {
		heap[i], all[i] = h.Heap().InuseBytes, true
		rss[i], known[i] = l.Series.ResidentAt(i)
	}
	last := len(heap) - 1
	room := max(min(width-20, 60), 1)
	lines := []ScreenLine{{Text: fmt.Sprintf("heap  %s  %s", text.Sparkline(heap, all, room), units.Bytes(heap[last]))}}
	if l.Result.RSS != nil {
		text := fmt.Sprintf("RSS   %s  %s", text.Sparkline(rss, known, room), l.residentText(last)) + shareOfRSS(l.Result)
		lines = append(lines, ScreenLine{Text: text})
	}
	return lines
}

// sites is growth's table, and what follows it.
func (l *Live) sites() ([]ScreenLine, error) {
	var b bytes.Buffer
	p := &text.Printer{W: &b}
	if len(l.Result.Sites) > 0 {
		l.table(p)
	}
	for _, n := range l.notes() {
		p.Linef("note: %s", n)
	}
	var lines []ScreenLine
	for line := range strings.Lines(b.String()) {
		lines = append(lines, ScreenLine{Text: strings.TrimRight(line, "\n")})
	}
	return lines, p.Err
}

func (l *Live) bottom() ScreenLine {
	line := "^C ends"
	if l.Took >= time.Second {
		line += fmt.Sprintf(" · read and judged in %s", units.Duration(l.Took.Seconds()))
	}
	if l.Warnings > 0 {
		line += fmt.Sprintf(" · %s: heaplapse info %s", units.Count(l.Warnings, "warning"), text.Clean(l.Path))
	}
	return ScreenLine{line, StyleFaint}
}

func styleOf(v growth.SeriesVerdict) Style {
	return cmp.Or(map[growth.SeriesVerdict]Style{growth.VerdictLeak: StyleLeak, growth.VerdictNoLeak: StyleNoLeak}[v], StyleUndecided)
}

// fit cuts a line to the width of a terminal, in which some characters take two places and some none.
func fit(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > width-1 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}
