package growth

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Growth is the answer to "what grows?".
type Report struct {
	Series  *series.Series
	Symbols *symbolize.Symbols
	Result  *growth.Result
	// Filter is what was judged; nil for all.
	Filter  *symbolize.Filter
	Unnamed *siteview.Unnamed // of the last snapshot that was judged
	siteview.View
	// Explain names a site whose verdict is to be explained, by its rank or by a part of what it is called; "" for none. The result
	// should have its stable sites then.
	Explain string
	// MemoryLimit in bytes is what the process must not reach; 0 for none.
	MemoryLimit int64
	// Width is that of the terminal that Text is for, in characters: in a narrow one the trend has less room. 0 for none.
	Width int

	view *siteview.Sites
}

// roomyWidth is the width of a terminal, in characters, from which on the table has room for a site's name.
const roomyWidth = 120

// narrow is how many characters the terminal has no room for.
func (g *Report) narrow() int {
	if g.Width <= 0 {
		return 0
	}
	return max(roomyWidth-g.Width, 0)
}

// viewer is made once.
func (g *Report) viewer() *siteview.Sites {
	if g.view == nil {
		g.view = g.View.Sites(g.Symbols)
	}
	return g.view
}

// rateUnit is what rates are given per: the clock decides.
func (g *Report) rateUnit() (name string, factor float64) {
	switch {
	case g.Series.Clock.Source.IsTime():
		return "hour", 3600
	case g.Series.Clock.Source == series.ClockAllocated:
		return "GiB allocated", 1 << 30
	}
	return "snapshot", 1
}

// Text writes the table for people.
func (g *Report) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	r := g.Result
	p.Linef("%s", g.headline())
	p.Linef("%s", g.summary())
	if line := g.limitLine(); line != "" {
		p.Linef("%s", line)
	}
	if g.Explain != "" {
		if err := g.explain(p); err != nil {
			return err
		}
		return p.Err
	}
	if len(r.Sites) > 0 {
		p.Linef("")
		g.table(p)
	}
	p.Linef("%s", g.tested())
	for _, n := range g.notes() {
		p.Linef("note: %s", n)
	}
	g.Unnamed.Text(p)
	return p.Err
}

// tested is how many verdicts were given: of many, some are wrong by chance.
func (g *Report) tested() string {
	if g.Result.Tested == 1 {
		return "1 site was judged"
	}
	return fmt.Sprintf("%d sites and single call paths were judged", g.Result.Tested)
}

// notes are what a reader should know beside the table.
func (g *Report) notes() []string {
	r := g.Result
	out := append(RangeNotes(r.Range), noteTexts(r.Notes)...)
	if m := r.LargestStable; m != nil {
		title, where := g.viewer().Title(m.Members[0])
		out = append(out, fmt.Sprintf("%s grew most, by %s, and not long or steadily enough to be called anything: record for longer, or judge its time with --since",
			strings.TrimSpace(title+" "+where), units.Bytes(m.Gained)))
	}
	if r.SmallBytes > max((r.LastHeap-r.FirstHeap)/2, leastUnlisted) {
		out = append(out, fmt.Sprintf("%s grew by too little each to be judged, by %s in all: --min-bytes 64KiB judges smaller ones, --group-by file or module larger groups",
			units.Count(r.Small, "site"), units.Bytes(r.SmallBytes)))
	}
	for _, s := range r.Suppressed {
		why := ""
		if s.Reason != "" {
			why = " (" + text.Clean(s.Reason) + ")"
		}
		out = append(out, fmt.Sprintf("suppressed by leak:%s%s: %s with %s", text.Clean(s.Pattern), why, units.Count(s.Sites, "stack"), units.SignedBytes(s.Gained)))
	}
	return out
}

// leastUnlisted is the least growth that is worth a note, in bytes.
const leastUnlisted = 128 << 10

// headline is the verdict, the worst site by name, and what to do next where that is known.
func (g *Report) headline() string {
	line := strings.ToUpper(string(g.Result.Verdict)) + ": " + g.Finding()
	if next := g.Next(); next != "" {
		line += "; next: " + next
	}
	return line
}

// Finding is the answer in words, without the verdict's own name: where a site was found that grows, with its name.
func (g *Report) Finding() string {
	switch {
	case g.Result.Verdict == growth.VerdictLeak:
		return g.worst()
	case g.suspected():
		return g.worst() + ", but not clearly to the end"
	}
	return Reason(g.Result)
}

// suspected says that nothing worse than suspects was found.
func (g *Report) suspected() bool {
	return g.Result.Verdict == growth.VerdictUndecided && len(g.Result.Sites) > 0 && g.Result.Sites[0].Label == trend.Suspect
}

// Next is what to do about the worst site, or about growth that is not in the heap; "" where nothing is known.
func (g *Report) Next() string {
	switch {
	case g.Result.Verdict == growth.VerdictLeak || g.suspected():
		return g.next(&g.Result.Sites[0])
	case g.Result.ProcessGrows:
		return siteview.AdviceBeside(g.Symbols)
	}
	return ""
}

// worst names the worst site, and how many more there are.
func (g *Report) worst() string {
	title, where := g.viewer().Title(g.Result.Sites[0].Members[0])
	return strings.TrimSpace(title+" "+where) + " " + g.grow()
}

// grow is what is said of the worst site, and of how many more like it.
func (g *Report) grow() string {
	verb, to := "grows", " to the end of the series"
	if more := g.likeWorst() - 1; more > 0 {
		verb = fmt.Sprintf("and %s grow", units.Count(more, "more site"))
	}
	if g.suspected() {
		to = ""
	}
	return verb + to
}

// likeWorst is the number of sites that are called leaks, or suspects if there are none.
func (g *Report) likeWorst() (n int) {
	suspects := g.suspected()
	for _, s := range g.Result.Sites {
		if s.Label.IsLeak() || suspects && s.Label == trend.Suspect {
			n++
		}
	}
	return n
}

// next is what to do about a site: advice on what allocates there, else what would give it a name.
func (g *Report) next(s *growth.Site) string {
	stack := g.viewer().Stack(s.Members[0])
	if text := siteview.AdviceFor(g.Symbols, stack); text != "" {
		return text
	}
	if len(stack) == 0 {
		return ""
	}
	if l := &g.Symbols.Locations[stack[s.Blame.Position]]; !l.Named() {
		return siteview.Remedy(g.Symbols, l)
	}
	return ""
}

// summary is the line under the verdict.
func (g *Report) summary() string {
	r, heads := g.Result, g.Series.Heads
	unit, factor := g.rateUnit()
	parts := []string{units.Count(len(heads), "snapshot")}
	if len(heads) > 1 && g.Series.Clock.Source.IsTime() {
		parts[0] += " in " + units.Duration(g.Series.Clock.Span())
	}
	parts = append(parts, "heap "+text.FromTo(r.FirstHeap, r.LastHeap, len(heads)))
	if r.Total.Points > 1 && r.Total.Slope != 0 {
		parts = append(parts, fmt.Sprintf("%s per %s", units.SignedBytes(r.Total.Slope*factor), unit))
	}
	if r.RSS != nil {
		parts = append(parts, "RSS "+text.FromTo(r.FirstRSS, r.LastRSS, len(heads))+shareOfRSS(r))
	}
	if r.Explained > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the growth is on the sites called leaks", 100*r.Explained))
	}
	return strings.Join(parts, " · ")
}

// shareOfRSS says how much of the resident set the heap explains at the end.
func shareOfRSS(r *growth.Result) string {
	if r.LastRSS <= 0 || r.LastHeap > r.LastRSS {
		return ""
	}
	return fmt.Sprintf(", of which the heap explains %.0f %%", 100*float64(r.LastHeap)/float64(r.LastRSS))
}

// sparkWidth is the number of characters of a sparkline.
const sparkWidth = 24

func (g *Report) table(p *text.Printer) {
	unit, factor := g.rateUnit()
	shown := text.FirstRows(g.Result.Sites, g.Top)
	p.Linef("%3s  %-14s %10s %12s %10s  %s  %s", "#", "VERDICT", "GROWTH", "PER "+rateHeading(unit), "NOW",
		text.Pad(firstRunes("TREND", g.trendWidth()), g.trendWidth()), "SITE")
	for i := range shown {
		g.row(p, i+1, &shown[i], factor)
	}
	if n := len(g.Result.Sites) - len(shown); n > 0 {
		p.Linef("… and %s: --top %d shows them", units.Count(n, "more site"), len(g.Result.Sites))
	}
}

func rateHeading(unit string) string {
	if unit == "GiB allocated" {
		return "GiB"
	}
	return strings.ToUpper(unit)
}

func (g *Report) row(p *text.Printer, rank int, s *growth.Site, factor float64) {
	label := s.Label.String()
	if s.Label.IsLeak() || s.Label == trend.Suspect {
		label += fmt.Sprintf(" %.0f%%", 100*s.Confidence)
	}
	site, where := g.viewer().Title(s.Members[0])
	p.Linef("%3d  %-14s %10s %12s %10s  %s  %s  %s", rank, label, units.SignedBytes(s.Gained), units.SignedBytes(s.Slope*factor),
		units.Bytes(g.now(s)), g.trend(s), site, where)
	g.under(p, s)
}

// trend draws the judged snapshots.
func (g *Report) trend(s *growth.Site) string {
	from, to := g.Result.First, g.Result.Last+1
	return text.Pad(text.Sparkline(s.Bytes[from:to], s.Visible[from:to], g.trendWidth()), g.trendWidth())
}

// trendWidth is the number of characters of the column.
func (g *Report) trendWidth() int {
	return max(min(sparkWidth-g.narrow(), len(g.Series.Heads)), 0)
}

func firstRunes(s string, n int) string { return string([]rune(s)[:min(n, len([]rune(s)))]) }

// under writes the lines below a site: who calls it, and what would name it.
func (g *Report) under(p *text.Printer, s *growth.Site) {
	v := g.viewer()
	if path := v.CallPath(s.Members); path != "" {
		p.Linef("     %s", path)
	}
	if s.Resizing {
		p.Linef("     few objects become larger: a table or buffer that is resized")
	}
	if s.Label.IsLeak() || s.Label == trend.Suspect {
		if text := siteview.AdviceFor(g.Symbols, v.Stack(s.Members[0])); text != "" {
			p.Linef("     → %s", text)
		}
	}
	if why := v.MissingName(s.Members[0]); why != "" {
		p.Linef("     %s", why)
	}
}

// now is the last visible value.
func (g *Report) now(s *growth.Site) int64 {
	for i := g.Result.Last; i >= g.Result.First; i-- {
		if s.Visible[i] {
			return s.Bytes[i]
		}
	}
	return 0
}
