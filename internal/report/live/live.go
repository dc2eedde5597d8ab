// Package live shows the report on a series that is still being written: on the screen of a
// terminal, or in one line for logs.
package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Report is the report on a series that is still being written.
type Report struct {
	*growth.Report
	// Path is the directory or prefix that is watched.
	Path string
	// Took is the time to read and judge the series.
	Took time.Duration
	// Warnings is the number of warnings, which the screen has no room for.
	Warnings int
}

// ScreenLine is a line on a terminal, without a newline.
type ScreenLine struct {
	Text  string
	Style Style
}

// Style is how a line is highlighted on a terminal with colours.
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

// margin is how many times as fast as the first site of the screen before another one must grow to
// take its place. Estimates of sites that grow alike change from snapshot to snapshot.
const margin = 1.25

// KeepFirst keeps the first site of the screen before in its place, so that the screen does not
// change between sites that grow alike. previous may be nil.
func (l *Report) KeepFirst(previous *Report) {
	list := l.Result.Sites
	if previous == nil || len(previous.Result.Sites) == 0 || len(list) == 0 {
		return
	}
	before := previous.Describe(&previous.Result.Sites[0]).Blame
	for i := range list {
		if s := list[i]; sameFunction(l.Describe(&s).Blame, before) {
			first := &list[0]
			alike := s.Label == first.Label || s.Label.IsLeak() && first.Label.IsLeak()
			if alike && first.Low*first.Confidence < margin*s.Low*s.Confidence {
				copy(list[1:i+1], list[:i])
				list[0] = s
			}
			return
		}
	}
}

func sameFunction(a, b siteview.Blame) bool { return a.Function == b.Function && a.Module == b.Module }

// Line is the state in one line, for logs: the time of the last snapshot, the number of snapshots,
// heap, RSS, verdict and the worst site.
func (l *Report) Line() string {
	heads := l.Series.Heads
	last := len(heads) - 1
	parts := []string{
		fmt.Sprintf("%s  %12s  heap %8s  RSS %8s  %-9s", l.lastTime().UTC().Format(time.RFC3339),
			units.Count(len(heads), "snapshot"),
			units.Bytes(heads[last].Heap().InuseBytes), l.residentText(last), l.verdictText()),
	}
	if worst, v := l.Lead(); worst != nil {
		parts = append(parts, v.Heading()+"  "+units.SignedBytes(worst.Gained))
		if unit, factor := l.RateUnit(); worst.Slope != 0 {
			parts = append(parts, units.SignedBytes(worst.Slope*factor)+" per "+unit)
		}
	}
	if whose := l.whose(); whose != "" {
		parts = append(parts, whose)
	}
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}

// whose is the process that the numbers of the line are of, and what is known of the others; "" if
// there is only one.
func (l *Report) whose() string {
	if len(l.Processes) < 2 {
		return ""
	}
	name := "process " + text.Clean(l.Series.Process.Name())
	switch among := l.Among(); {
	case l.Result.Why == verdict.OthersTooShort:
		return name + ": " + l.Result.Reason()
	case strings.HasPrefix(among, name):
		return among
	default:
		return text.Join("; ", name, among)
	}
}

// verdictText is the verdict, with the confidence of a leak.
func (l *Report) verdictText() string {
	if worst, _ := l.Lead(); l.Result.Verdict == verdict.SeriesLeak {
		return string(l.Result.Verdict) + " " + text.ShortPercent(worst.Confidence)
	}
	return string(l.Result.Verdict)
}

// lastTime is the time of the last snapshot, or the modification time of its file.
func (l *Report) lastTime() time.Time {
	last := len(l.Series.Heads) - 1
	if l.Series.Clock.Source.IsTime() {
		return l.Series.Clock.Times[last]
	}
	return l.Series.Heads[last].Modified
}

// residentText is the resident set at a snapshot, or "-".
func (l *Report) residentText(k int) string {
	rss, ok := l.Series.ResidentAt(k)
	if !ok {
		return "-"
	}
	return units.Bytes(rss)
}

// Screen is the state on a terminal of a size in characters. What there is no room for is left out
// in this order: remarks on sites, notes, sites.
func (l *Report) Screen(width, height int, now time.Time) []ScreenLine {
	report := *l.Report
	report.Width = width
	lines := append(l.top(now), ScreenLine{})
	for _, line := range text.Folded(report.Headline(), width, "") {
		lines = append(lines, ScreenLine{line, styleOf(l.Result.Verdict)})
	}
	if table := processesIn(&report, max(height/4, 3)); table != nil {
		lines = append(lines, ScreenLine{})
		for _, line := range table {
			lines = append(lines, ScreenLine{Text: line})
		}
		lines = append(lines, ScreenLine{})
	}
	for _, line := range append(text.Folded(report.Summary(), width, ""), text.Folded(report.Limit(), width, "")...) {
		lines = append(lines, ScreenLine{Text: line})
	}
	lines = append(append(lines, l.curves(width)...), ScreenLine{})
	for _, line := range l.sitesIn(&report, height-len(lines)-1) {
		lines = append(lines, ScreenLine{Text: line})
	}
	lines = lines[:min(len(lines), max(height-1, 0))]
	for len(lines) < height-1 {
		lines = append(lines, ScreenLine{})
	}
	lines = append(lines, l.bottom())
	for i := range lines {
		lines[i].Text = truncated(lines[i].Text, width)
	}
	return lines[:min(len(lines), max(height, 1))]
}

// processesIn is the table of as many processes as fit a number of lines, but of at least one; nil
// if there is only one.
func processesIn(g *growth.Report, room int) (table []string) {
	for n := room; n > 0; n-- {
		if table = g.ProcessTable(n); len(table) <= room {
			break
		}
	}
	return table
}

// sitesIn are the table and the notes in a number of lines.
func (l *Report) sitesIn(g *growth.Report, room int) (lines []string) {
	rows, notes := []growth.TableRow{}, []string{}
	for _, n := range g.Notes(false) {
		notes = append(notes, "note: "+n)
	}
	shown, used := 0, 0
	if g.HasTable() {
		lines, rows, used = append(lines, g.TableHead()), g.TableRows(), 1
	}
	for shown < len(rows) && used+len(rows[shown].Lines) <= room {
		used += len(rows[shown].Lines)
		shown++
	}
	more := ""
	all := len(g.Result.Causes) + len(g.Result.Sites)
	if n := all - shown; n > 0 {
		for ; shown > 0 && used+1 > room; shown-- { // the line that counts the others
			used -= len(rows[shown-1].Lines)
		}
		more = fmt.Sprintf("… and %s: %s %s", units.Count(all-shown, "more site"), option.GrowthCommand,
			text.Clean(l.Path))
		used++
	}
	notes = notes[:max(0, min(len(notes), room-used))]
	spare := room - used - len(notes)
	for _, r := range rows[:shown] {
		lines = append(lines, r.Lines...)
		if spare >= len(r.Remarks) {
			lines = append(lines, r.Remarks...)
			spare -= len(r.Remarks)
		}
	}
	if more != "" {
		lines = append(lines, more)
	}
	return append(lines, notes...)
}

// top is the process and the age of the last snapshot.
func (l *Report) top(now time.Time) []ScreenLine {
	who := l.Path
	if p := l.Series.Process; p.PID != 0 {
		who += " · " + p.Title()
	}
	if n := len(l.ProcessRows()); n > 1 {
		who += fmt.Sprintf(" · the worst of %d processes", n)
	}
	ago := ""
	if age := now.Sub(l.lastTime()); age >= 0 && age < 1000*time.Hour {
		ago = fmt.Sprintf("the last snapshot is %s old", units.Duration(age.Truncate(time.Second).Seconds()))
	}
	return []ScreenLine{{"heaplapse watch " + text.Clean(who), StyleStrong}, {ago, StyleFaint}}
}

// curves draw the size of the heap and of the resident set over time.
func (l *Report) curves(width int) []ScreenLine {
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
		line := fmt.Sprintf("RSS   %s  %s", text.Sparkline(rss, known, room), l.residentText(last))
		if share := growth.HeapShare(l.Result); text.Width(line+share) <= width { // the summary has it, too
			line += share
		}
		lines = append(lines, ScreenLine{Text: line})
	}
	return lines
}

// bottom is the last line: how to stop, and what the screen has no room for.
func (l *Report) bottom() ScreenLine {
	line := "^C stops"
	if l.Took >= time.Second {
		line += fmt.Sprintf(" · read and judged in %s", units.Duration(l.Took.Seconds()))
	}
	if l.Warnings > 0 {
		line += fmt.Sprintf(" · %s: %s %s", units.Count(l.Warnings, "warning"), option.InfoCommand, text.Clean(l.Path))
	}
	return ScreenLine{line, StyleFaint}
}

func styleOf(v verdict.Series) Style {
	return map[verdict.Color]Style{
		verdict.Red: StyleLeak, verdict.Green: StyleNoLeak, verdict.Yellow: StyleUndecided,
	}[v.Color()]
}

// truncated is a line shortened to the width of a terminal, on which some characters take two
// columns and some none.
func truncated(s string, width int) string {
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
