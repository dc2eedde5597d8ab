package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Growth is the answer to "what grows?".
type Growth struct {
	Series  *heapfile.Series
	Symbols *symbolize.Symbols
	Result  *diff.GrowthResult
	Unnamed *Unnamed // of the last snapshot that was judged
	// Top limits the sites in text; 0 shows 20.
	Top int
}

// rateUnit is what rates are given per: the clock decides.
func (g *Growth) rateUnit() (name string, factor float64) {
	switch {
	case g.Series.Clock.Source.IsTime():
		return "hour", 3600
	case g.Series.Clock.Source == heapfile.ClockAllocated:
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
	if len(r.Sites) > 0 {
		p.linef("")
		g.table(p)
	}
	for _, n := range r.Notes {
		p.linef("note: %s", n)
	}
	g.Unnamed.text(p)
	return p.err
}

// headline is the verdict, the worst site by name, and what to do next where that is known.
func (g *Growth) headline() string {
	r := g.Result
	verdict := strings.ToUpper(string(r.Verdict))
	if r.Verdict != diff.VerdictLeak {
		return verdict + ": " + r.Why
	}
	worst := &r.Sites[0]
	stack := stackOf(g.Symbols, worst.Members[0])
	site, where := g.describe(stack, worst.Blame)
	line := fmt.Sprintf("%s: %s", verdict, strings.TrimSpace(clip(site, 90)+" "+where))
	switch more := g.leaks() - 1; {
	case more > 0:
		line += fmt.Sprintf(" and %s grow to the end of the series", plural(more, "more site"))
	default:
		line += " grows to the end of the series"
	}
	if next := g.next(worst, stack); next != "" {
		line += "; next: " + next
	}
	return line
}

// leaks is the number of sites that are called leaks.
func (g *Growth) leaks() (n int) {
	for _, s := range g.Result.Sites {
		if s.Label.IsLeak() {
			n++
		}
	}
	return n
}

// next is what to do about a site: advice on what allocates there, else what would give it a name.
func (g *Growth) next(s *diff.GrowthSite, stack []symbolize.LocationID) string {
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

// describe names the frame to blame, and its place.
func (g *Growth) describe(stack []symbolize.LocationID, ref symbolize.FrameRef) (site, where string) {
	if len(stack) == 0 {
		return "(no stack)", ""
	}
	l := &g.Symbols.Locations[stack[ref.Position]]
	if !l.Named() {
		return g.unnamed(stack, ref.Position), ""
	}
	return name(g.Symbols, l, ref.Frame), place(g.Symbols, l, ref.Frame)
}

// summary is the line under the verdict.
func (g *Growth) summary() string {
	r, heads := g.Result, g.Series.Heads
	unit, factor := g.rateUnit()
	parts := []string{plural(len(heads), "snapshot")}
	if g.Series.Clock.Source.IsTime() {
		parts[0] += " in " + duration(g.Series.Clock.Span())
	}
	first, last := heads[r.First], heads[r.Last]
	parts = append(parts, fmt.Sprintf("heap %s → %s", Bytes(first.Heap().InuseBytes), Bytes(last.Heap().InuseBytes)))
	if r.Total.Points > 1 && r.Total.Slope != 0 {
		parts = append(parts, fmt.Sprintf("%s per %s", signed(r.Total.Slope*factor), unit))
	}
	if r.Explained > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the growth is on the sites called leaks", 100*r.Explained))
	}
	return strings.Join(parts, " · ")
}

// sparkWidth is the number of characters of a sparkline.
const sparkWidth = 24

func (g *Growth) table(p *printer) {
	unit, factor := g.rateUnit()
	shown := g.Result.Sites
	top := g.Top
	if top <= 0 {
		top = 20
	}
	if len(shown) > top {
		shown = shown[:top]
	}
	p.linef("%3s  %-14s %10s %12s %10s  %s  %s", "#", "VERDICT", "GROWTH", "PER "+rateHeading(unit), "NOW",
		pad("TREND", min(sparkWidth, len(g.Series.Heads))), "SITE")
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

func (g *Growth) row(p *printer, rank int, s *diff.GrowthSite, factor float64) {
	stack := stackOf(g.Symbols, s.Members[0])
	label := s.Label.String()
	if s.Label.IsLeak() || s.Label == trend.Suspect {
		label += fmt.Sprintf(" %.0f%%", 100*s.Confidence)
	}
	site, where := g.describe(stack, s.Blame)
	p.linef("%3d  %-14s %10s %12s %10s  %s  %s  %s", rank, label, signed(float64(s.Gained)), signed(s.Slope*factor),
		Bytes(g.now(s)), g.trend(s), clip(site, 90), where)
	g.under(p, s, stack)
}

// unnamed describes a place without a function by what is certain: where it is, and
// who of its module calls it; else by the nearest symbol.
func (g *Growth) unnamed(stack []symbolize.LocationID, position int) string {
	l := &g.Symbols.Locations[stack[position]]
	if by := g.calledBy(stack, position); by != "" {
		return fmt.Sprintf("%s (called by %s)", g.Symbols.Label(l), by)
	}
	return name(g.Symbols, l, -1)
}

// calledBy is the nearest function above a place in a stack that is of the same module and has a name.
func (g *Growth) calledBy(stack []symbolize.LocationID, position int) string {
	module := g.Symbols.Locations[stack[position]].Module
	for _, id := range stack[position+1:] {
		up := &g.Symbols.Locations[id]
		if up.Module != module {
			break
		}
		if up.Named() {
			return up.Frames[0].Function
		}
	}
	return ""
}

// trend draws the judged snapshots.
func (g *Growth) trend(s *diff.GrowthSite) string {
	from, to := g.Result.First, g.Result.Last+1
	return pad(sparkline(s.Bytes[from:to], s.Visible[from:to], sparkWidth), min(sparkWidth, len(g.Series.Heads)))
}

// under writes the lines below a site: who calls it, and what would name it.
func (g *Growth) under(p *printer, s *diff.GrowthSite, stack []symbolize.LocationID) {
	if path := g.callPath(s, stack); path != "" {
		p.linef("     %s", path)
	}
	if s.Resizing {
		p.linef("     few objects become larger: a table or buffer that is resized")
	}
	if s.Label.IsLeak() {
		if text := adviceFor(g.Symbols, stack); text != "" {
			p.linef("     → %s", text)
		}
	}
	if len(stack) == 0 {
		return
	}
	if l := &g.Symbols.Locations[stack[s.Blame.Position]]; !l.Named() {
		p.linef("     unnamed: %s; %s", l.Reason.Explain(), remedy(g.Symbols, l))
	}
}

// maxCallers is the number of callers shown.
const maxCallers = 4

// callPath is the callers that all members of a site have in common, nearest first.
func (g *Growth) callPath(s *diff.GrowthSite, stack []symbolize.LocationID) string {
	if len(stack) == 0 {
		return ""
	}
	common := g.callers(stack, s.Blame)
	blamer := symbolize.NewBlamer(g.Symbols, nil)
	for _, m := range s.Members[1:] {
		other := stackOf(g.Symbols, m)
		ref, ok := blamer.Blame(other)
		if !ok {
			continue
		}
		common = common[:commonPrefix(common, g.callers(other, ref))]
	}
	var out []string
	for _, c := range common[:min(maxCallers, len(common))] {
		out = append(out, strings.TrimSpace(clip(c.name, 60)+" "+c.place))
	}
	path := strings.Join(out, " ← ")
	if path != "" {
		path = "← " + path
	}
	if n := len(s.Members); n > 1 {
		path = strings.TrimSpace(path + fmt.Sprintf("  (%d call paths)", n))
	}
	return path
}

type caller struct{ name, place string }

// callers are the frames above a frame of a stack.
func (g *Growth) callers(stack []symbolize.LocationID, ref symbolize.FrameRef) []caller {
	var out []caller
	for i := ref.Position; i < len(stack); i++ {
		l := &g.Symbols.Locations[stack[i]]
		if !l.Named() {
			if i > ref.Position {
				out = append(out, caller{g.Symbols.Label(l), ""})
			}
			continue
		}
		from := 0
		if i == ref.Position {
			from = ref.Frame + 1
		}
		for k := from; k < len(l.Frames); k++ {
			out = append(out, caller{name(g.Symbols, l, k), place(g.Symbols, l, k)})
		}
	}
	return out
}

func commonPrefix(a, b []caller) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// now is the last visible value.
func (g *Growth) now(s *diff.GrowthSite) int64 {
	for i := g.Result.Last; i >= 0; i-- {
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
	BytesPerHour *float64      `json:"bytes_per_hour"`
	Rate         float64       `json:"rate"`
	RatePer      string        `json:"rate_per"`
	Explained    float64       `json:"explained"`
	Series       seriesJSON    `json:"series"`
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
}

// JSON writes the result as heaplapse.growth/1.
func (g *Growth) JSON(w io.Writer) error {
	unit, factor := g.rateUnit()
	r := g.Result
	out := growthJSON{
		Schema: "heaplapse.growth/1", Verdict: string(r.Verdict), Why: r.Why,
		BytesPerHour: g.perHour(r.Total.Slope), Rate: finite(r.Total.Slope * factor), RatePer: unit,
		Explained: finite(r.Explained), Series: seriesOf(g.Series), Tested: r.Tested,
		Notes: append([]string{}, r.Notes...), Unnamed: g.Unnamed.json(), Sites: []growthSite{},
	}
	for i := range r.Sites {
		out.Sites = append(out.Sites, g.site(&r.Sites[i], factor))
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

func (g *Growth) site(s *diff.GrowthSite, factor float64) growthSite {
	stack := stackOf(g.Symbols, s.Members[0])
	return growthSite{
		Label: s.Label.String(), Confidence: finite(s.Confidence), Stacks: len(s.Members),
		Blame: g.blame(s, stack), Frames: frames(g.Symbols, stack),
		InuseBytes: visible(s.Bytes, s.Visible), InuseObjects: visible(s.Objects, s.Visible),
		GrowthBytes: s.Gained, BytesPerHour: g.perHour(s.Slope), Low: g.perHour(s.Low), High: g.perHour(s.High),
		Rate: finite(s.Slope * factor), Resizing: s.Resizing, Advice: adviceFor(g.Symbols, stack),
	}
}

func (g *Growth) blame(s *diff.GrowthSite, stack []symbolize.LocationID) blameJSON {
	if len(stack) == 0 {
		return blameJSON{}
	}
	l := &g.Symbols.Locations[stack[s.Blame.Position]]
	var out blameJSON
	if m := g.Symbols.Module(l); m != nil {
		out.Module = m.Path
	}
	if !l.Named() {
		out.Function, out.Near, out.Remedy = g.Symbols.Label(l), near(l), remedy(g.Symbols, l)
		out.CalledBy = g.calledBy(stack, s.Blame.Position)
		return out
	}
	f := l.Frames[max(s.Blame.Frame, 0)]
	out.Function, out.File, out.Line = f.Function, f.File, f.Line
	return out
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
func seriesOf(s *heapfile.Series) seriesJSON {
	out := seriesJSON{Clock: s.Clock.Source.String(), Snapshots: []snapshotJSON{}, Warnings: []string{}}
	for i, h := range s.Heads {
		j := snapshotJSON{
			Path: h.Path, Seq: h.File.Seq, InuseBytes: h.Heap().InuseBytes, InuseObjects: h.Heap().InuseObjects,
			Truncated: h.Completeness.Cut, AbsentMaxByte: h.Completeness.AbsentMax.InuseBytes,
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

// AllWarnings are the warnings of a series, then those of its snapshots.
func AllWarnings(s *heapfile.Series) []heapfile.Warning {
	out := append([]heapfile.Warning{}, s.Warnings...)
	for _, h := range s.Heads {
		out = append(out, h.Warnings...)
	}
	return out
}
