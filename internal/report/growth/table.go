package growth

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

const (
	// roomyWidth is the least width of a terminal that has room for the whole trend and the site's
	// name, in characters.
	roomyWidth = 120
	// sparkWidth is the width of a trend, in characters.
	sparkWidth = 24
)

// table writes a row for each site, with its call path and advice below.
func (g *Report) table(p *text.Printer) {
	unit, factor := g.RateUnit()
	shown := text.FirstRows(g.Result.Sites, g.Top)
	p.Linef("%3s  %-14s %10s %12s %10s  %s  %s", "#", "VERDICT", "GROWTH", "PER "+rateHeading(unit), "NOW",
		text.Pad(firstRunes("TREND", g.trendWidth()), g.trendWidth()), "SITE")
	for i := range shown {
		g.row(p, i+1, &shown[i], factor)
	}
	if n := len(g.Result.Sites) - len(shown); n > 0 {
		p.Linef("… and %s%s", units.Count(n, "more site"),
			g.Flags.If(option.Top, ": %s %d shows them", len(g.Result.Sites)))
	}
}

func rateHeading(unit string) string {
	if unit == "GiB allocated" {
		return "GiB"
	}
	return strings.ToUpper(unit)
}

func firstRunes(s string, n int) string { return string([]rune(s)[:min(n, len([]rune(s)))]) }

func (g *Report) row(p *text.Printer, rank int, s *growth.Site, factor float64) {
	v := g.Describe(s)
	label := s.Label.String()
	if isSuspicious(s.Label) {
		label += fmt.Sprintf(" %.0f%%", 100*s.Confidence)
	}
	p.Linef("%3d  %-14s %10s %12s %10s  %s  %s  %s", rank, label, units.SignedBytes(s.Gained),
		units.SignedBytes(s.Slope*factor),
		units.Bytes(g.Now(s)), text.Pad(g.trend(s, g.trendWidth()), g.trendWidth()), v.Title(), v.Where)
	for _, line := range remarks(s, v) {
		p.Linef("     %s", line)
	}
}

// isSuspicious reports whether a label is a leak or a suspect.
func isSuspicious(l trend.Label) bool { return l.IsLeak() || l == trend.Suspect }

// remarks are the lines below a row.
func remarks(s *growth.Site, v siteview.View) (lines []string) {
	if path := v.CallPath(0); path != "" {
		lines = append(lines, path)
	}
	if s.Resizing {
		lines = append(lines, "a few objects become larger: a table or a buffer that is resized")
	}
	if isSuspicious(s.Label) {
		if advice := v.Advice(); advice != "" {
			lines = append(lines, "→ "+advice)
		}
	}
	if v.Unnamed != "" {
		lines = append(lines, v.Unnamed)
	}
	return lines
}

// trend draws the bytes in use in the judged snapshots.
func (g *Report) trend(s *growth.Site, width int) string {
	from, to := g.Result.First, g.Result.Last+1
	return text.Sparkline(s.Bytes[from:to], s.Visible[from:to], width)
}

// trendWidth is the width of the trend's column, in characters.
func (g *Report) trendWidth() int {
	width := sparkWidth
	if g.Width > 0 {
		width -= max(roomyWidth-g.Width, 0)
	}
	return max(min(width, len(g.Series.Heads)), 0)
}

// Now is the number of bytes that a site has in use in the last judged snapshot that shows it.
func (g *Report) Now(s *growth.Site) int64 {
	for i := g.Result.Last; i >= g.Result.First; i-- {
		if s.Visible[i] {
			return s.Bytes[i]
		}
	}
	return 0
}
