package growth

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/manifest"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
	"github.com/heaplapse/heaplapse/symbolize/class"
)

// Report is the sites of a series that grow. It is not safe for concurrent use.
type Report struct {
	*pipeline.Judged
	// Processes are the verdicts on all processes of the recording, worst first. The series is that
	// of the worst, whose Shown is set.
	Processes []Process
	siteview.Options
	// Explain selects sites whose verdicts are explained, by rank, by a part of what the table
	// calls them or by a regular expression; empty for none. The result should have its stable
	// sites then.
	Explain string
	// Stacks is the number of call paths of each site that Text shows with all frames.
	Stacks int
	// MemoryLimit is the number of bytes that the process must not reach; 0 for none.
	MemoryLimit int64

	describer *siteview.Describer
}

// Describe describes a site for a reader.
func (g *Report) Describe(s *growth.Site) siteview.View { return g.sites().View(s.Members) }

// Advice is what to look at next about a site; it may be empty.
//
// What holds the blocks is a better advice than what such functions usually do.
func (g *Report) Advice(s *growth.Site, v siteview.View) string {
	if held := g.Holders.Of(s.Members).Held; holders.Line(held) != "" {
		return holders.Advice(held)
	}
	rises, last := 0, int64(-1)
	for i := g.Result.First; i <= g.Result.Last; i++ {
		if !s.Visible[i] {
			continue
		}
		if last >= 0 && s.Bytes[i] > last {
			rises++
		}
		last = s.Bytes[i]
	}
	return v.Advice(rises > 1)
}

// DescribeCause describes a cause for a reader.
func (g *Report) DescribeCause(c *growth.Cause) siteview.View {
	if c.Small {
		return siteview.SmallSites(len(c.Members))
	}
	return g.sites().Cause(c.Members, c.Blame)
}

// HasTable reports whether there are sites or causes to list.
func (g *Report) HasTable() bool { return len(g.Result.Sites)+len(g.Result.Causes) > 0 }

// sites returns the describer of the series, which is made on first use.
func (g *Report) sites() *siteview.Describer {
	if g.describer == nil {
		g.describer = siteview.NewDescriber(g.Symbols, g.Options)
		g.describer.TellApart(g.rows())
	}
	return g.describer
}

// rows are the largest call paths of the sites.
func (g *Report) rows() (rows []symbolize.SiteID) {
	for i := range g.Result.Sites {
		rows = append(rows, g.Result.Sites[i].Members[0])
	}
	return rows
}

// Text writes the report for a terminal.
func (g *Report) Text(w io.Writer) error {
	p := &text.Printer{W: w, Links: siteview.Links(g.Style, g.Symbols)}
	p.Linef("%s", g.Style.Paint(g.Headline(), g.Result.Verdict.Headline(), verdictRendition(g.Result)))
	if table := g.ProcessTable(g.Top); table != nil {
		p.Linef("")
		for _, line := range table {
			p.Linef("%s", line)
		}
		p.Linef("")
		p.Linef("%s", g.shown())
	}
	p.Linef("%s", g.Summary())
	if line := g.Limit(); line != "" {
		p.Linef("%s", line)
	}
	if g.Explain != "" {
		if err := g.explain(p); err != nil {
			return err
		}
		return p.Err
	}
	if g.HasTable() {
		p.Linef("")
		g.table(p)
	}
	for _, line := range g.elsewhere() {
		p.Linef("%s", line)
	}
	p.Linef("%s", g.tested())
	s := g.worst()
	held := s != nil && holders.Line(g.Holders.Of(s.Members).Held) != ""
	if g.Result.Verdict == verdict.SeriesLeak && !held {
		p.Linef("note: a leak is named by the line that requests the memory; what keeps it may be a caller, or another site")
	}
	for _, n := range g.Notes(true) {
		p.Linef("note: %s", n)
	}
	for _, line := range g.resident(g.width()) {
		p.Linef("%s", line)
	}
	siteview.Unnamed{Unnamed: g.Unnamed}.Text(p)
	return p.Err
}

// tested is the number of verdicts. A reader needs it because of many verdicts some are wrong by
// chance.
func (g *Report) tested() string {
	if g.Result.Tested == 1 {
		return "1 site was judged"
	}
	return fmt.Sprintf("%d sites and single call paths were judged", g.Result.Tested)
}

// Headline is the verdict, the worst site, the chance of a leak, and what to do next.
func (g *Report) Headline() string {
	line := g.Result.Verdict.Headline() + ": " + g.Finding()
	if chance := g.chance(); chance != "" {
		line += "; " + chance
	}
	if next := g.Next(); next != "" {
		line += "; next: " + next
	}
	return line
}

// verdictRendition is that of the verdict on a series.
func verdictRendition(r *growth.Result) text.Rendition {
	return map[verdict.Color]text.Rendition{
		verdict.Red: text.Red, verdict.Green: text.Green, verdict.Yellow: text.Yellow,
	}[r.Verdict.Color()]
}

// Finding is the worst site or, if no site grows, the reason of the verdict, and the process of
// several. It does not name the verdict.
func (g *Report) Finding() string { return text.Join("; ", g.finding(), g.Among()) }

func (g *Report) finding() string {
	if c := g.cause(); c != nil {
		return g.DescribeCause(c).Heading() + " " + g.causePredicate(c)
	}
	worst := g.worst()
	if worst == nil {
		return g.reason()
	}
	return g.Describe(worst).Headline() + " " + g.predicate()
}

// reason is that of the verdict. NO-LEAK tells which heap is not in the snapshots.
func (g *Report) reason() string {
	if heap := siteview.OwnHeap(g.Symbols); heap != "" && g.Result.Why == verdict.NothingGrows {
		return g.Result.Reason() + ", outside " + heap
	}
	return g.Result.Reason()
}

// cause is the function through which most of the growth leaks; nil if there is none. It tells more
// than the worst of its sites.
func (g *Report) cause() *growth.Cause { return g.Result.LeakingCause() }

// causePredicate is what a cause does. It names the first leak of the table that is a part of the cause: that row has
// the line that the cause has not.
func (g *Report) causePredicate(c *growth.Cause) string {
	does := "grows to the end of the series, in " + units.Count(c.Sites, "site")
	for i := range g.Result.Sites {
		if s := &g.Result.Sites[i]; s.Label.IsLeak() && slices.Contains(c.Members, s.Members[0]) {
			return does + ", most in " + g.Describe(s).Heading()
		}
	}
	return does
}

// Lead is the first site or cause of the table, and its description; nil if the table is empty.
func (g *Report) Lead() (*growth.Site, siteview.View) {
	if c := g.cause(); c != nil {
		return &c.Site, g.DescribeCause(c)
	}
	if len(g.Result.Sites) > 0 {
		s := &g.Result.Sites[0]
		return s, g.Describe(s)
	}
	return nil, siteview.View{}
}

// named is the site or cause that the headline names, and its description; nil if it names none.
func (g *Report) named() (*growth.Site, siteview.View) {
	if c := g.cause(); c != nil {
		return &c.Site, g.DescribeCause(c)
	}
	if s := g.worst(); s != nil {
		return s, g.Describe(s)
	}
	return nil, siteview.View{}
}

// worst is the first site if it is a leak or a suspect, or the one that may leak; else nil.
func (g *Report) worst() *growth.Site {
	switch r := g.Result; {
	case r.Why == verdict.SitesLeak, r.Why == verdict.SitesSuspect && r.Suspects > 0:
		return &r.Sites[0]
	case r.Why == verdict.SitesSuspect:
		return r.Likeliest
	}
	return nil
}

// predicate is what the worst site does, together with the number of sites that do the same.
func (g *Report) predicate() string {
	verb, others := "grows to the end of the series", ""
	if more := g.likeWorst() - 1; more > 0 {
		verb, others = "grow to the end of the series", "and "+units.Count(more, "more site")+" "
	}
	switch {
	case g.Result.Why != verdict.SitesSuspect:
	case g.Result.Chance >= trend.LeakConfidence:
		verb += ", but with less than the required confidence"
	default:
		verb = "may leak"
	}
	return others + verb
}

// likeWorst is the number of leaks, or of suspects if there are no leaks.
func (g *Report) likeWorst() (n int) {
	suspects := g.Result.Why == verdict.SitesSuspect
	for _, s := range g.Result.Sites {
		if s.Label.IsLeak() || suspects && s.Label == verdict.Suspect {
			n++
		}
	}
	return n
}

// remedies are what to do if data are missing.
var remedies = map[verdict.Reason]string{
	verdict.OthersTooShort:  "ask again later, or record for longer",
	verdict.ProgramsMissing: "record them, too (" + option.FollowChildren + ")",
	verdict.MayReplace:      "record until all that was there before has been replaced",
	verdict.NotCollected:    "record for four minutes, or until these buffers have grown by " + units.Bytes(class.CollectedLater),
	verdict.HeapMissing:     "take the heap profiles of its net/http/pprof (heaplapse scrape)",
	verdict.WorkersMissing:  "record the workers, too (without " + option.MainOnly + ")",
}

// Next is what to do about the worst site, or about growth outside the heap, or to get a verdict;
// it may be empty.
func (g *Report) Next() string {
	if g.Result.Verdict == verdict.SeriesUndecided && !g.Result.Why.DataMissing() {
		return g.settlement()
	}
	if g.Result.Why == verdict.TooFewSnapshots {
		return g.more()
	}
	if advice := remedies[g.Result.Why]; advice != "" {
		return advice
	}
	if s, v := g.named(); s != nil {
		if advice := g.Advice(s, v); advice != "" {
			return advice
		}
		return v.Blame.Remedy
	}
	if g.Result.ProcessGrows {
		return siteview.AdviceBeside(g.Symbols, g.mallocOnly())
	}
	return ""
}

// more advises how to get enough snapshots. A program that ends by itself may do its work more often: snapshots that
// follow each other more closely show mostly how it starts.
func (g *Report) more() string {
	end := g.Series.Process.End
	switch {
	case len(g.Series.Heads) == 1:
		return "name the directory of all snapshots, or record for longer"
	case end == nil, end.Status == nil, !end.Asked.IsZero(), g.Series.Method() != manifest.MethodRecord:
		return longer
	}
	return "let the program repeat its work, for ten seconds or more"
}

// settlement is what would decide whether what may leak does.
func (g *Report) settlement() string {
	switch idle := g.idleEnd(); {
	case idle != "":
		return idle
	case g.Result.Why == verdict.OnlySmallSitesGrow:
		return "judge the small sites, too, with " + option.MinBytes + " 64KiB"
	}
	return g.closer()
}

// idleEnd advises to judge the time before the process did nothing to the end; "" if it worked on. The numbers of
// snapshots are those of one process.
func (g *Report) idleEnd() string {
	until := sites.LoadedUntil(g.Series, g.Result.First, g.Result.Last, verdict.MinPoints)
	if until >= g.Result.Last {
		return ""
	}
	process := ""
	if len(g.Processes) > 1 {
		process = fmt.Sprintf("%s %s ", option.Process, text.Clean(g.Series.Process.Name()))
	}
	return fmt.Sprintf("the process hardly ran after snapshot %d: judge the time before (%s%s %d)", until+1,
		process, option.Until, until+1)
}

// mallocOnly reports whether CPython got all its memory from malloc, so that the heap shows it.
func (g *Report) mallocOnly() bool {
	m := g.Series.Manifest
	return m != nil && m.Recording != nil && strings.HasPrefix(m.Recording.Settings["PYTHONMALLOC"], "malloc")
}

// Summary is the number of snapshots, the size of the heap and the process, and their growth.
func (g *Report) Summary() string {
	r, n := g.Result, len(g.Series.Heads)
	unit, factor := g.RateUnit()
	parts := []string{strings.TrimSpace(units.Count(n, "snapshot") + " " + g.Span())}
	parts = append(parts, "heap "+text.FromTo(r.FirstHeap, r.LastHeap, n))
	if r.Total.Points > 1 && r.Total.Slope != 0 {
		parts = append(parts, fmt.Sprintf("%s per %s", units.SignedBytes(r.Total.Slope*factor), unit))
	}
	if r.RSS != nil {
		parts = append(parts, "RSS "+text.FromTo(r.FirstRSS, r.LastRSS, n)+HeapShare(r))
	}
	if r.Explained > 0 {
		parts = append(parts, g.leaks(unit, factor))
	}
	return strings.Join(parts, " · ")
}

// leaks is how fast the sites that leak grow together, and their share of the growth, of which start-up may have most.
func (g *Report) leaks(unit string, factor float64) string {
	share := fmt.Sprintf("%.0f %% of the growth", 100*g.Result.Explained)
	if g.Result.LeakingCauses > 0 {
		return "leaks account for " + share
	}
	return fmt.Sprintf("leaks: %s per %s, %s", units.SignedBytes(g.Result.LeakRate()*factor), unit, share)
}

// HeapShare is the share of the resident set that is heap, at the end.
func HeapShare(r *growth.Result) string {
	if r.LastRSS <= 0 || r.LastHeap > r.LastRSS {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of it heap", 100*float64(r.LastHeap)/float64(r.LastRSS))
}

// Span is the time from the first to the last snapshot, as in "in 12m"; empty if times are not
// known.
func (g *Report) Span() string {
	if !g.Series.Clock.Source.IsTime() || len(g.Series.Heads) < 2 {
		return ""
	}
	return "in " + units.Duration(g.Series.Clock.Span())
}

// RateUnit is what rates are per ("hour", "GiB allocated", "snapshot"), and the factor from a slope
// to such a rate. Both depend on the clock of the series.
func (g *Report) RateUnit() (name string, factor float64) {
	switch {
	case g.Series.Clock.Source.IsTime():
		return "hour", 3600
	case g.Series.Clock.Source == series.ClockAllocated:
		return "GiB allocated", 1 << 30
	}
	return "snapshot", 1
}
