package growth

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

const (
	// roomyWidth is the least width of a terminal that has room for the whole trend and the site's
	// name, in characters.
	roomyWidth = 120
	// sparkWidth is the width of a trend, in characters.
	sparkWidth = 24
	// pageWidth is the width of the lines below a row if Text is not for a terminal.
	pageWidth = 160
	// indent is that of the lines below a row.
	indent = text.Indent
)

// TableRow is a site in the table: the line of its numbers, with its name on the same line or on
// the next one, and remarks on it.
type TableRow struct {
	Lines, Remarks []string

	of    verdict.Site
	label string // of, as Lines have it
}

// table writes a row for each site, with its call path and advice below.
func (g *Report) table(p *text.Printer) {
	p.Linef("%s", g.Style.Head(g.TableHead()))
	for _, r := range g.TableRows() {
		r.Lines[0] = g.Style.Paint(r.Lines[0], r.label, labelRendition(r.of))
		for _, line := range append(r.Lines, r.Remarks...) {
			p.Linef("%s", line)
		}
	}
	if n := len(g.Result.Sites) - len(text.FirstRows(g.Result.Sites, g.Top)); n > 0 {
		p.Linef("… and %s%s", units.Count(n, "more site"), text.ShowAll(len(g.Result.Sites)))
	}
}

// TableHead is the line of the titles of the table.
func (g *Report) TableHead() string {
	unit, _ := g.RateUnit()
	columns := g.columns("PER " + rateHeading(unit))
	head := columns.Head() + g.trendCell(trendHead) + "SITE"
	if width := g.width(); width > 0 && text.Width(head) > width { // names are on lines of their own
		return strings.TrimRight(strings.TrimSuffix(head, "SITE"), " ")
	}
	return head
}

// columns are those before the trend. rate is the title of that of rates.
func (g *Report) columns(rate string) text.Table {
	columns := []text.Column{
		{Head: "#", Width: 3},
		{Head: " VERDICT", Width: 15, Left: true},
		{Head: "GROWTH", Width: 10, Narrow: 9},
		{Head: rate, Width: 12, Narrow: 9, Rank: 1},
		{Head: "NOW", Width: 10, Narrow: 9, Rank: 2},
	}
	if g.Ages != nil {
		columns = append(columns, text.Column{Head: "OLD", Width: 5, Rank: 3})
	}
	return text.NewTable(g.width(), columns...)
}

func rateHeading(unit string) string {
	if unit == "GiB allocated" {
		return "GiB"
	}
	return strings.ToUpper(unit)
}

// causeRows are the rows above those of the sites.
func (g *Report) causeRows() (rows []TableRow) {
	for i := range g.Result.Causes {
		c := &g.Result.Causes[i]
		row := g.row("–", &c.Site, g.DescribeCause(c))
		share := CauseShare(c)
		if !c.Small {
			share += ", through functions that it calls"
		}
		row.Lines = append(row.Lines, wrapped(share, g.width())...)
		rows = append(rows, row)
	}
	return rows
}

// TableRows are the rows of the causes and of the first Top sites. A remark that is the same for
// several sites is made once.
func (g *Report) TableRows() []TableRow {
	rows, made, apart := g.causeRows(), map[string]bool{}, g.apart()
	for i, s := range text.FirstRows(g.Result.Sites, g.Top) {
		v := g.Describe(&s)
		row := g.row(strconv.Itoa(i+1), &s, v)
		held := holders.Line(g.Holders.Of(s.Members).Held) // that of each site is told
		for _, r := range g.remarks(&s, v, apart[s.Members[0]]) {
			if !made[r] || g.GroupBy == sites.ByStack || r == held {
				made[r] = true
				row.Remarks = append(row.Remarks, wrapped(r, g.width())...)
			}
		}
		row.Remarks = append(row.Remarks, g.stacks(&s, g.Stacks)...)
		rows = append(rows, row)
	}
	return rows
}

// apart is what tells rows apart that are stacks and read the same.
func (g *Report) apart() map[symbolize.SiteID]string {
	alike := map[string][]symbolize.SiteID{}
	for _, s := range text.FirstRows(g.Result.Sites, g.Top) {
		if v := g.Describe(&s); g.GroupBy == sites.ByStack {
			look := v.Heading() + v.CallPath(g.pathWidth())
			alike[look] = append(alike[look], s.Members[0])
		}
	}
	out := map[symbolize.SiteID]string{}
	for _, stacks := range alike {
		if len(stacks) < 2 {
			continue
		}
		for i, what := range g.sites().Apart(stacks) {
			out[stacks[i]] = what
		}
	}
	return out
}

// pathWidth is that of a call path.
func (g *Report) pathWidth() int { return text.PathWidth(cmp.Or(g.width(), pageWidth)) }

// CauseShare is the part of the growth that a cause explains, as in "76 % of the growth, 212 sites".
func CauseShare(c *growth.Cause) string {
	return fmt.Sprintf("%.0f %% of the growth, %s", 100*c.Share, units.Count(c.Sites, "site"))
}

// row is a site with its numbers and its name, without remarks.
func (g *Report) row(rank string, s *growth.Site, v siteview.View) TableRow {
	unit, factor := g.RateUnit()
	label := LabelText(s.Label, s.Confidence)
	columns := g.columns("PER " + rateHeading(unit))
	cells := []string{
		rank, " " + label, units.SignedBytes(s.Gained), units.SignedBytes(s.Slope * factor), units.Bytes(g.Now(s)),
	}
	if g.Ages != nil {
		cells = append(cells, g.oldShare(s))
	}
	numbers := columns.Row(cells...) + g.trendCell(g.trend(s, g.trendWidth()))
	return TableRow{Lines: text.Row(numbers, v.Title(), v.Where, g.width()), of: s.Label, label: label}
}

// oldShare is the share of what a site has in use that was allocated in the first half of the judged snapshots, as
// text; "" if that is not known.
func (g *Report) oldShare(s *growth.Site) string {
	share, ok := g.Ages.Old(s.Members)
	if !ok {
		return ""
	}
	return units.Percent(share)
}

// labelRendition is that of the verdict on a site; empty for those that do not leak.
func labelRendition(l verdict.Site) text.Rendition {
	return map[verdict.Family]text.Rendition{
		verdict.FamilyLeak: text.Red, verdict.FamilySuspect: text.Yellow,
	}[l.Family()]
}

// remarks are the lines below a row, without their indent. apart is what tells it from others; it may be empty.
func (g *Report) remarks(s *growth.Site, v siteview.View, apart string) (lines []string) {
	width := g.pathWidth()
	path := v.CallPath(width)
	if path != "" {
		lines = append(lines, path)
	}
	if apart != "" {
		lines = append(lines, apart)
	}
	if held := g.Holders.Of(s.Members); holders.Line(held.Held) != "" {
		lines = append(lines, holders.Line(held.Held))
	} else if len(g.Holders) > 0 && s.Label.IsSuspicious() {
		lines = append(lines, holders.Why(held))
	}
	if line := parts(s); line != "" {
		lines = append(lines, line)
	}
	if line := pooled(s, processes.LeaksIn(g.All, g.Key(s))); line != "" {
		lines = append(lines, line)
	}
	lines = append(lines, g.losses(s, path, width)...)
	if line := slower(s); line != "" {
		lines = append(lines, line)
	}
	if s.Resizing {
		lines = append(lines, "a few objects become larger: a table or a buffer that is resized")
	}
	if s.Label.IsSuspicious() {
		if advice := g.Advice(s, v); advice != "" {
			lines = append(lines, "→ "+advice)
		}
	}
	if v.Unnamed != "" {
		lines = append(lines, g.unnamed(v))
	}
	return lines
}

// slower tells that a site that leaks grows more slowly at the end; "" if it does not.
func slower(s *growth.Site) string {
	const slow = 0.7
	if tail := s.Features[trend.FeatureTail]; s.Label.IsLeak() && measured(s) && tail < slow {
		return fmt.Sprintf("it grows more slowly at the end, at %.0f %% of its mean rate: a cache that fills does so, too",
			100*max(0, tail))
	}
	return ""
}

// unnamed is why the function of a site has no name, and how to get it unless the end of the report says so.
func (g *Report) unnamed(v siteview.View) string {
	if g.Unnamed.Negligible() {
		return v.Unnamed + "; " + v.Blame.Remedy
	}
	return v.Unnamed
}

// wrapped is an indented text in lines of a width in columns; 0 has no limit.
func wrapped(s string, width int) (lines []string) {
	room := width - len(indent)
	if width <= 0 || text.Width(s) <= room {
		return []string{indent + s}
	}
	for _, line := range text.Folded(s, room, "  ") {
		lines = append(lines, indent+line)
	}
	return lines
}

// width is that of the terminal, in characters; 0 if there is none.
func (g *Report) width() int {
	if g.Width <= 0 {
		return 0
	}
	return max(g.Width, text.LeastWidth)
}

// trend draws the bytes in use in the judged snapshots.
func (g *Report) trend(s *growth.Site, width int) string {
	from, to := g.Result.First, g.Result.Last+1
	return text.Sparkline(s.Bytes[from:to], s.Visible[from:to], width)
}

const trendHead = "TREND"

// trendCell is a cell of the trend's column; "" if there is no room for the column.
func (g *Report) trendCell(s string) string {
	if g.trendWidth() == 0 {
		return ""
	}
	return text.Pad(s, g.trendWidth()) + "  "
}

// trendWidth is the width of the trend's column, in characters: 0, or enough for its head.
func (g *Report) trendWidth() int {
	width := sparkWidth
	if g.Width > 0 {
		width -= max(roomyWidth-g.Width, 0)
	}
	if width < len(trendHead) {
		return 0
	}
	return max(min(width, len(g.Series.Heads)), len(trendHead))
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

// stacks are the lines of the n call paths of a site that grew most, with all frames.
func (g *Report) stacks(s *growth.Site, n int) (lines []string) {
	for i, id := range s.Members[:min(n, len(s.Members))] {
		lines = append(lines, fmt.Sprintf("%scall path %d of %d, all frames:", indent, i+1, len(s.Members)))
		for _, f := range g.sites().Frames([]symbolize.SiteID{id}) {
			lines = append(lines, indent+"  "+frameLine(f))
		}
	}
	return lines
}

// parts are the verdicts on the parts of a site; "" if all of it was judged together.
func parts(s *growth.Site) string {
	var list []string
	for i := range s.Parts {
		p := &s.Parts[i]
		list = append(list, fmt.Sprintf("%s: %s, %s", units.Count(len(p.Members), "call path"),
			LabelText(p.Label, p.Confidence), units.SignedBytes(p.Gained)))
	}
	return strings.Join(list, "; ")
}

// LabelText is the verdict on a site, with the confidence where that matters.
func LabelText(l verdict.Site, confidence float64) string {
	if l.IsSuspicious() {
		return l.String() + " " + text.ShortPercent(confidence)
	}
	return l.String()
}

// pooled is what all processes of the program show of a site; "" if it grew in one only. leaksIn is the number of
// those in which it leaks.
func pooled(s *growth.Site, leaksIn int) string {
	if s.Pool == nil {
		return ""
	}
	leaks := ""
	if leaksIn > 0 {
		leaks = fmt.Sprintf(", and leaks in %d of them", leaksIn)
	}
	return fmt.Sprintf("grew in %s, by %s in all%s; chance of a leak: %s by this process alone, %s by all of them",
		units.CountOf(s.Pool.Processes, "process", "processes"), units.Bytes(s.Pool.Gained), leaks, text.Percent(s.Pool.Own),
		text.Percent(s.Pool.Confidence))
}
