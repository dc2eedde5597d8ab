package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Growth is the answer to "what grows?".
type Growth struct {
	Series  *series.Series
	Symbols *symbolize.Symbols
	Result  *growth.Result
	// Filter is what was judged; nil for all.
	Filter  *symbolize.Filter
	Unnamed *Unnamed // of the last snapshot that was judged
	View
	// Explain names a site whose verdict is to be explained, by its rank or by a part of what it is called; "" for none. The result
	// should have its stable sites then.
	Explain string
	// MemoryLimit in bytes is what the process must not reach; 0 for none.
	MemoryLimit int64
	// Width is that of the terminal that Text is for, in characters: in a narrow one the trend has less room. 0 for none.
	Width int

	view *viewer
}

// roomyWidth is the width of a terminal, in characters, from which on the table has room for a site's name.
const roomyWidth = 120

// narrow is how many characters the terminal has no room for.
func (g *Growth) narrow() int {
	if g.Width <= 0 {
		return 0
	}
	return max(roomyWidth-g.Width, 0)
}

// viewer is made once.
func (g *Growth) viewer() *viewer {
	if g.view == nil {
		g.view = g.View.viewer(g.Symbols)
	}
	return g.view
}

// rateUnit is what rates are given per: the clock decides.
func (g *Growth) rateUnit() (name string, factor float64) {
	switch {
	case g.Series.Clock.Source.IsTime():
		return "hour", 3600
	case g.Series.Clock.Source == series.ClockAllocated:
		return "GiB allocated", 1 << 30
	}
	return "snapshot", 1
}

// Text writes the table for people.
func (g *Growth) Text(w io.Writer) error {
	p := &printer{w: w}
	r := g.Result
	p.linef("%s", g.headline())
	p.linef("%s", g.summary())
	if line := g.limitLine(); line != "" {
		p.linef("%s", line)
	}
	if g.Explain != "" {
		if err := g.explain(p); err != nil {
			return err
		}
		return p.err
	}
	if len(r.Sites) > 0 {
		p.linef("")
		g.table(p)
	}
	p.linef("%s", g.tested())
	for _, n := range g.notes() {
		p.linef("note: %s", n)
	}
	g.Unnamed.text(p)
	return p.err
}

// tested is how many verdicts were given: of many, some are wrong by chance.
func (g *Growth) tested() string {
	if g.Result.Tested == 1 {
		return "1 site was judged"
	}
	return fmt.Sprintf("%d sites and single call paths were judged", g.Result.Tested)
}

// notes are what a reader should know beside the table.
func (g *Growth) notes() []string {
	r := g.Result
	out := append(RangeNotes(r.Range), noteTexts(r.Notes)...)
	if m := r.Most; m != nil {
		title, where := g.viewer().title(m.Members[0])
		out = append(out, fmt.Sprintf("%s grew most, by %s, and not long or steadily enough to be called anything: record for longer, or judge its time with --since",
			strings.TrimSpace(title+" "+where), Bytes(m.Gained)))
	}
	if r.UnlistedBytes > max((r.LastHeap-r.FirstHeap)/2, leastUnlisted) {
		out = append(out, fmt.Sprintf("%s grew by too little each to be judged, by %s in all: --min-bytes 64KiB judges smaller ones, --group-by file or module larger groups",
			plural(r.Unlisted, "site"), Bytes(r.UnlistedBytes)))
	}
	for _, s := range r.Suppressed {
		why := ""
		if s.Reason != "" {
			why = " (" + clean(s.Reason) + ")"
		}
		out = append(out, fmt.Sprintf("suppressed by leak:%s%s: %s with %s", clean(s.Pattern), why, plural(s.Sites, "stack"), signed(float64(s.Gained))))
	}
	return out
}

// leastUnlisted is the least growth that is worth a note, in bytes.
const leastUnlisted = 128 << 10

// headline is the verdict, the worst site by name, and what to do next where that is known.
func (g *Growth) headline() string {
	line := strings.ToUpper(string(g.Result.Verdict)) + ": " + g.Finding()
	if next := g.Next(); next != "" {
		line += "; next: " + next
	}
	return line
}

// Finding is the answer in words, without the verdict's own name: where a site was found that grows, with its name.
func (g *Growth) Finding() string {
	switch {
	case g.Result.Verdict == growth.VerdictLeak:
		return g.worst()
	case g.suspected():
		return g.worst() + ", but not clearly to the end"
	}
	return GrowthReason(g.Result)
}

// suspected says that nothing worse than suspects was found.
func (g *Growth) suspected() bool {
	return g.Result.Verdict == growth.VerdictUndecided && len(g.Result.Sites) > 0 && g.Result.Sites[0].Label == trend.Suspect
}

// Next is what to do about the worst site, or about growth that is not in the heap; "" where nothing is known.
func (g *Growth) Next() string {
	switch {
	case g.Result.Verdict == growth.VerdictLeak || g.suspected():
		return g.next(&g.Result.Sites[0])
	case g.Result.Beyond:
		return adviceBeside(g.Symbols)
	}
	return ""
}

// worst names the worst site, and how many more there are.
func (g *Growth) worst() string {
	title, where := g.viewer().title(g.Result.Sites[0].Members[0])
	return strings.TrimSpace(title+" "+where) + " " + g.grow()
}

// grow is what is said of the worst site, and of how many more like it.
func (g *Growth) grow() string {
	text, to := "grows", " to the end of the series"
	if more := g.likeWorst() - 1; more > 0 {
		text = fmt.Sprintf("and %s grow", plural(more, "more site"))
	}
	if g.suspected() {
		to = ""
	}
	return text + to
}

// likeWorst is the number of sites that are called leaks, or suspects if there are none.
func (g *Growth) likeWorst() (n int) {
	suspects := g.suspected()
	for _, s := range g.Result.Sites {
		if s.Label.IsLeak() || suspects && s.Label == trend.Suspect {
			n++
		}
	}
	return n
}

// next is what to do about a site: advice on what allocates there, else what would give it a name.
func (g *Growth) next(s *growth.Site) string {
	stack := g.viewer().stack(s.Members[0])
	if text := adviceFor(g.Symbols, stack); text != "" {
		return text
	}
	if len(stack) == 0 {
		return ""
	}
	if l := &g.Symbols.Locations[stack[s.Blame.Position]]; !l.Named() {
		return remedy(g.Symbols, l)
	}
	return ""
}

// summary is the line under the verdict.
func (g *Growth) summary() string {
	r, heads := g.Result, g.Series.Heads
	unit, factor := g.rateUnit()
	parts := []string{plural(len(heads), "snapshot")}
	if len(heads) > 1 && g.Series.Clock.Source.IsTime() {
		parts[0] += " in " + duration(g.Series.Clock.Span())
	}
	parts = append(parts, "heap "+FromTo(r.FirstHeap, r.LastHeap, len(heads)))
	if r.Total.Points > 1 && r.Total.Slope != 0 {
		parts = append(parts, fmt.Sprintf("%s per %s", signed(r.Total.Slope*factor), unit))
	}
	if r.RSS != nil {
		parts = append(parts, "RSS "+FromTo(r.FirstRSS, r.LastRSS, len(heads))+shareOfRSS(r))
	}
	if r.Explained > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the growth is on the sites called leaks", 100*r.Explained))
	}
	return strings.Join(parts, " · ")
}

// FromTo is what a number of bytes was at the first and at the last of some snapshots; of one snapshot just what it was.
func FromTo(first, last int64, snapshots int) string {
	if snapshots == 1 {
		return Bytes(last)
	}
	return Bytes(first) + " → " + Bytes(last)
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

func (g *Growth) table(p *printer) {
	unit, factor := g.rateUnit()
	shown := firstRows(g.Result.Sites, g.Top)
	p.linef("%3s  %-14s %10s %12s %10s  %s  %s", "#", "VERDICT", "GROWTH", "PER "+rateHeading(unit), "NOW",
		pad(firstRunes("TREND", g.trendWidth()), g.trendWidth()), "SITE")
	for i := range shown {
		g.row(p, i+1, &shown[i], factor)
	}
	if n := len(g.Result.Sites) - len(shown); n > 0 {
		p.linef("… and %s: --top %d shows them", plural(n, "more site"), len(g.Result.Sites))
	}
}

func rateHeading(unit string) string {
	if unit == "GiB allocated" {
		return "GiB"
	}
	return strings.ToUpper(unit)
}

func (g *Growth) row(p *printer, rank int, s *growth.Site, factor float64) {
	label := s.Label.String()
	if s.Label.IsLeak() || s.Label == trend.Suspect {
		label += fmt.Sprintf(" %.0f%%", 100*s.Confidence)
	}
	site, where := g.viewer().title(s.Members[0])
	p.linef("%3d  %-14s %10s %12s %10s  %s  %s  %s", rank, label, signed(float64(s.Gained)), signed(s.Slope*factor),
		Bytes(g.now(s)), g.trend(s), site, where)
	g.under(p, s)
}

// trend draws the judged snapshots.
func (g *Growth) trend(s *growth.Site) string {
	from, to := g.Result.First, g.Result.Last+1
	return pad(sparkline(s.Bytes[from:to], s.Visible[from:to], g.trendWidth()), g.trendWidth())
}

// trendWidth is the number of characters of the column.
func (g *Growth) trendWidth() int {
	return max(min(sparkWidth-g.narrow(), len(g.Series.Heads)), 0)
}

func firstRunes(s string, n int) string { return string([]rune(s)[:min(n, len([]rune(s)))]) }

// under writes the lines below a site: who calls it, and what would name it.
func (g *Growth) under(p *printer, s *growth.Site) {
	v := g.viewer()
	if path := v.callPath(s.Members); path != "" {
		p.linef("     %s", path)
	}
	if s.Resizing {
		p.linef("     few objects become larger: a table or buffer that is resized")
	}
	if s.Label.IsLeak() || s.Label == trend.Suspect {
		if text := adviceFor(g.Symbols, v.stack(s.Members[0])); text != "" {
			p.linef("     → %s", text)
		}
	}
	if why := v.missingName(s.Members[0]); why != "" {
		p.linef("     %s", why)
	}
}

// now is the last visible value.
func (g *Growth) now(s *growth.Site) int64 {
	for i := g.Result.Last; i >= g.Result.First; i-- {
		if s.Visible[i] {
			return s.Bytes[i]
		}
	}
	return 0
}

type growthJSON struct {
	Schema       string        `json:"schema"`
	Verdict      string        `json:"verdict"`
	Why          string        `json:"why"`
	Next         string        `json:"next,omitempty"`
	BytesPerHour *float64      `json:"bytes_per_hour"`
	Rate         float64       `json:"rate"`
	RatePer      string        `json:"rate_per"`
	Explained    float64       `json:"explained"`
	Series       seriesJSON    `json:"series"`
	Limit        *limitJSON    `json:"memory_limit,omitempty"`
	Tested       int           `json:"tested"`
	Notes        []string      `json:"notes"`
	Unnamed      []unnamedJSON `json:"unnamed"`
	Sites        []growthSite  `json:"sites"`
}

type seriesJSON struct {
	Clock     string         `json:"clock"`
	Snapshots []snapshotJSON `json:"snapshots"`
	Warnings  []string       `json:"warnings"`
}

type snapshotJSON struct {
	Path          string     `json:"path"`
	Seq           int        `json:"seq"`
	Time          *time.Time `json:"time"`
	InuseBytes    int64      `json:"inuse_bytes"`
	InuseObjects  int64      `json:"inuse_objects"`
	RSSBytes      *int64     `json:"rss_bytes"`
	Truncated     bool       `json:"truncated"`
	AbsentMaxByte int64      `json:"absent_max_bytes"`
}

type blameJSON struct {
	Function string `json:"function"`
	Module   string `json:"module"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Near and Remedy are for places without a function.
	Near   string `json:"near,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// CalledBy is the nearest caller in the same module that has a name.
	CalledBy string `json:"called_by,omitempty"`
}

type growthSite struct {
	Label        string    `json:"label"`
	Confidence   float64   `json:"confidence"`
	Stacks       int       `json:"stacks"`
	Blame        blameJSON `json:"blame"`
	Frames       []Frame   `json:"frames"`
	InuseBytes   []*int64  `json:"inuse_bytes"`
	InuseObjects []*int64  `json:"inuse_objects"`
	GrowthBytes  int64     `json:"growth_bytes"`
	BytesPerHour *float64  `json:"bytes_per_hour"`
	Low          *float64  `json:"bytes_per_hour_low"`
	High         *float64  `json:"bytes_per_hour_high"`
	Rate         float64   `json:"rate"`
	Resizing     bool      `json:"resizing"`
	Advice       string    `json:"advice,omitempty"`
	// Evidence are the numbers behind the label, of a site that was to be explained.
	Evidence map[string]float64 `json:"evidence,omitempty"`
}

// JSON writes the result as heaplapse.growth/1.
func (g *Growth) JSON(w io.Writer) error {
	unit, factor := g.rateUnit()
	r := g.Result
	out := growthJSON{
		Schema: "heaplapse.growth/1", Verdict: string(r.Verdict), Why: GrowthReason(r), Next: g.Next(),
		BytesPerHour: g.perHour(r.Total.Slope), Rate: Finite(r.Total.Slope * factor), RatePer: unit,
		Explained: Finite(r.Explained), Series: seriesOf(g.Series), Tested: r.Tested,
		Limit: g.limit(), Notes: g.notes(), Unnamed: g.Unnamed.json(), Sites: []growthSite{},
	}
	for i := range r.Sites {
		out.Sites = append(out.Sites, g.site(&r.Sites[i], factor))
	}
	if g.Explain != "" {
		chosen, err := g.explained()
		if err != nil {
			return err
		}
		for _, c := range chosen {
			if c.rank == 0 {
				out.Sites = append(out.Sites, g.site(c.site, factor))
				c.rank = len(out.Sites)
			}
			out.Sites[c.rank-1].Evidence = evidenceJSON(&c.site.Features)
		}
	}
	return writeJSON(w, out)
}

// perHour converts a slope to bytes per hour; nil where the clock does not count time.
func (g *Growth) perHour(slope float64) *float64 {
	if !g.Series.Clock.Source.IsTime() || math.IsNaN(slope) || math.IsInf(slope, 0) {
		return nil
	}
	v := slope * 3600
	return &v
}

func (g *Growth) site(s *growth.Site, factor float64) growthSite {
	stack := g.viewer().stack(s.Members[0])
	return growthSite{
		Label: s.Label.String(), Confidence: Finite(s.Confidence), Stacks: len(s.Members),
		Blame: g.viewer().blame(s.Members[0]), Frames: frames(g.Symbols, stack),
		InuseBytes: visible(s.Bytes, s.Visible), InuseObjects: visible(s.Objects, s.Visible),
		GrowthBytes: s.Gained, BytesPerHour: g.perHour(s.Slope), Low: g.perHour(s.Low), High: g.perHour(s.High),
		Rate: Finite(s.Slope * factor), Resizing: s.Resizing, Advice: adviceFor(g.Symbols, stack),
	}
}

func visible(values []int64, shown []bool) []*int64 {
	out := make([]*int64, len(values))
	for i := range values {
		if shown[i] {
			out[i] = &values[i]
		}
	}
	return out
}

// seriesOf describes the snapshots of a series.
func seriesOf(s *series.Series) seriesJSON {
	out := seriesJSON{Clock: s.Clock.Source.String(), Snapshots: []snapshotJSON{}, Warnings: []string{}}
	for i, h := range s.Heads {
		j := snapshotJSON{
			Path: h.Path, Seq: h.File.Seq, InuseBytes: h.Heap().InuseBytes, InuseObjects: h.Heap().InuseObjects,
			Truncated: h.Completeness.Truncated, AbsentMaxByte: h.Completeness.AbsentMax.InuseBytes,
		}
		if s.Clock.Source.IsTime() {
			t := s.Clock.Times[i].UTC()
			j.Time = &t
		}
		if s.RSS != nil {
			j.RSSBytes = s.RSS[i]
		}
		out.Snapshots = append(out.Snapshots, j)
	}
	for _, w := range AllWarnings(s) {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return out
}
