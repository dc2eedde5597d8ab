package growth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Process is the verdict on a process of a recording.
type Process struct {
	series.Process
	Verdict verdict.Series
	// Why is the reason of the verdict, as text.
	Why string
	// Chance is the probability that the process leaks; nil without a verdict.
	Chance *float64
	// Leaks and Suspects are the numbers of sites and causes with these labels.
	Leaks, Suspects int
	// Heap is the size of the heap; nil if the process was not judged.
	Heap *Heap
	// Site describes the cause or the site that leaks, or may leak, and Blame is its function; ""
	// and nil if there is none.
	Site  string
	Blame *siteview.Blame
	// Losses are what other tools found at the sites that leak or may leak, Lost the stable sites
	// with lost memory, and Records what other tools found at all sites.
	Losses  []*evidence.Record
	Lost    []LostSite
	Records []*evidence.Record
	// Shown reports whether the rest of the report is about this process.
	Shown bool

	// dataMissing reports whether there is no verdict because data are missing. notJudged is the
	// reason why the process was not judged at all, as text.
	dataMissing bool
	notJudged   string
	// leaked is the number of bytes that Site has leaked at least, times its confidence.
	leaked float64
	// result is without the curves of the sites; nil if the process was not judged. sites describes
	// those that may leak, by their first member, and cause the cause that leaks.
	result *growth.Result
	sites  map[symbolize.SiteID]describedSite
	cause  *describedSite
	// evidence is what the process shows of each site.
	evidence map[siteKey]growth.Evidence
	// judgedFor is how long the process was judged, in units of the clock.
	judgedFor float64
}

// describedSite is a site of a process whose report is gone.
type describedSite struct {
	key     siteKey
	heading string
	blame   siteview.Blame
}

// Heap is the size of a heap in bytes, its growth, and the rate of its growth.
type Heap struct {
	Now, Gained int64
	// Rate is in bytes per RatePer. PerHour is nil if the times of the snapshots are not known.
	Rate    float64
	RatePer string
	PerHour *float64
	RSS     *int64 // nil if it was not recorded
}

// Judged returns the verdict on the process of the report. It does not refer to the report.
func (g *Report) Judged() Process {
	r := g.Result
	unit, factor := g.RateUnit()
	judgedFor := g.Series.Clock.At[r.Last] - g.Series.Clock.At[r.First]
	p := Process{
		Process: g.Series.Process,
		Heap: &Heap{
			Now: r.LastHeap, Gained: r.LastHeap - r.FirstHeap,
			Rate: text.Finite(r.Total.Slope * factor), RatePer: unit, PerHour: g.perHour(r.Total.Slope),
		},
		result: r.WithoutCurves(), sites: g.describeSites(), cause: g.describeCause(),
		evidence: g.evidence(judgedFor), judgedFor: judgedFor,
	}
	p.Files = len(g.Series.Heads)
	switch r.Why {
	case verdict.TooFewSnapshots:
		p.notJudged = tooShort
	case verdict.NothingRecorded:
		p.notJudged = "no allocation was recorded"
	}
	if r.RSS != nil {
		rss := r.LastRSS
		p.Heap.RSS = &rss
	}
	if g.Losses != nil {
		p.Losses, p.Lost, p.Records = g.suspectLosses(), g.lostSites(), g.Losses.Records()
	}
	p.conclude()
	return p
}

// conclude sets the verdict that follows from the result.
func (p *Process) conclude() {
	r := p.result
	p.Verdict, p.Why, p.dataMissing = r.Verdict, r.Reason(), r.Why.DataMissing()
	p.Leaks, p.Suspects = r.Leaks+r.LeakingCauses, r.Suspects
	p.Chance, p.Site, p.Blame, p.leaked = nil, "", nil, 0
	if !p.dataMissing {
		chance := text.Finite(r.Chance)
		p.Chance = &chance
	}
	switch c := r.LeakingCause(); {
	case c != nil:
		p.lead(&c.Site, *p.cause)
	case len(r.Sites) > 0 && r.Sites[0].Label.IsSuspicious():
		p.lead(&r.Sites[0], p.sites[r.Sites[0].Members[0]])
	}
}

func (p *Process) lead(s *growth.Site, described describedSite) {
	p.Site, p.Blame, p.leaked = described.heading, &described.blame, s.Low*p.judgedFor*s.Confidence
}

// tooShort is why a process with too few snapshots is not judged.
var tooShort = fmt.Sprintf("fewer than %d snapshots", verdict.MinPoints)

// TooShort is a process that wrote too few snapshots to be judged.
func TooShort(p series.Process) Process { return NotJudged(p, tooShort) }

// NotJudged is a process that was not judged, for a reason.
func NotJudged(p series.Process, why string) Process {
	return Process{Process: p, Verdict: verdict.SeriesUndecided, Why: why, dataMissing: true, notJudged: why}
}

// Worse compares two processes. A leak is worse than missing data, which is worse than no leak. Of
// two leaks that which has leaked more is worse: a process that ran for a short time shows little,
// however fast it grew. So the chance of a leak decides together with the time. A process with too
// few snapshots tells least.
func Worse(p, q *Process) int {
	chance := func(p *Process) float64 {
		if p.Chance == nil {
			return 0
		}
		return *p.Chance * p.judgedFor
	}
	byBytes := 0
	if p.Verdict == verdict.SeriesLeak && q.Verdict == verdict.SeriesLeak {
		byBytes = cmp.Compare(p.leaked, q.leaked)
	}
	return cmp.Or(cmp.Compare(p.severity(), q.severity()), byBytes, cmp.Compare(chance(p), chance(q)))
}

// Short is the number of processes that ran to the end of the recording, have too few snapshots,
// and had more memory than those that were judged; 0 if they had less.
func Short(all []Process) (n int) {
	var last time.Time
	running := false
	for i := range all {
		switch end := all[i].End; {
		case end == nil:
			running = true
		case end.Time.After(last):
			last = end.Time
		}
	}
	var judged, short int64
	for i := range all {
		p := &all[i]
		atEnd := p.End == nil || !running && last.Sub(p.End.Time) < atTheEnd
		switch {
		case p.notJudged == "":
			judged += p.PeakInuse
		case p.notJudged == tooShort && atEnd:
			short += p.PeakInuse
			n++
		}
	}
	if short <= judged {
		return 0
	}
	return n
}

// atTheEnd is the time within which the processes of a program end that is stopped.
const atTheEnd = 5 * time.Second

func (p *Process) severity() int {
	switch {
	case p.notJudged == "":
	case p.Heap == nil: // it was not read
		return -1
	default:
		return 0
	}
	return len(verdict.AllSeries()) - p.Verdict.Rank()
}

// judged are the processes that have a verdict, or only miss data.
func (g *Report) judged() (out []Process) {
	for _, p := range g.Processes {
		if p.notJudged == "" {
			out = append(out, p)
		}
	}
	return out
}

// Among is the process of the report among several: its name, and how many have the same verdict.
// It is empty if only one was judged, or none has the verdict, which rests on what the others lack
// then.
func (g *Report) Among() string {
	all := g.judged()
	if len(all) < 2 {
		return ""
	}
	alike := 0
	for i := range all {
		if all[i].Verdict == g.Result.Verdict {
			alike++
		}
	}
	if alike == 0 {
		return ""
	}
	return g.Result.Verdict.Among(text.Clean(g.Series.Process.Name()), alike, len(all))
}

// leaksIn is the number of processes in which a site leaks.
func leaksIn(all []Process, key siteKey) (n int) {
	for i := range all {
		p := &all[i]
		if p.result != nil && slices.ContainsFunc(p.result.Sites, func(s growth.Site) bool {
			return s.Label.IsLeak() && p.sites[s.Members[0]].key == key
		}) {
			n++
		}
	}
	return n
}

// notJudgedNote is the number of processes that were not judged, and why; empty if there are none
// besides that of the report.
func (g *Report) notJudgedNote() string {
	count, reasons := map[string]int{}, []string{}
	for i := range g.Processes {
		p := &g.Processes[i]
		if p.notJudged == "" || p.Shown {
			continue
		}
		if count[p.notJudged]++; count[p.notJudged] == 1 {
			reasons = append(reasons, p.notJudged)
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	all := 0
	for i, why := range reasons {
		all += count[why]
		if len(reasons) > 1 {
			reasons[i] += fmt.Sprintf(" (%d)", count[why])
		}
	}
	return fmt.Sprintf("%s %s not judged: %s", units.CountOf(all, "more process", "more processes"),
		plural(all, "was", "were"), strings.Join(reasons, ", "))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// markdownProcesses writes the table of processes, and which one the rest is about.
func (g *Report) markdownProcesses(p *text.Printer) {
	all := g.ProcessRows()
	if all == nil {
		return
	}
	unit, _ := g.RateUnit()
	p.Linef("")
	p.Linef("| process | command | verdict | snapshots | growth | per %s | now | site |", unit)
	p.Linef("|---|---|---|--:|--:|--:|--:|---|")
	rows := text.FirstRows(all, g.Top)
	for _, r := range rows {
		if r.Verdict == string(verdict.SeriesLeak) {
			r.Label = "**" + r.Label + "**"
		}
		p.Linef("| %s | %s | %s | %d | %s | %s | %s | %s |", text.EscapeMarkdown(r.Name),
			text.Code(r.Command, 60), r.Label, r.Snapshots, r.Growth, r.Rate, r.Now, text.EscapeMarkdown(r.Site))
	}
	if more := len(all) - len(rows); more > 0 {
		p.Linef("")
		p.Linef("… and %s.", units.CountOf(more, "more process", "more processes"))
	}
	p.Linef("")
	p.Linef("%s", text.Sentence(g.shown()))
}

// shown is the process that the lines below it are about.
func (g *Report) shown() string {
	return fmt.Sprintf("process %s%s", text.Clean(g.Series.Process.Name()),
		g.Flags.If(option.Process, " (%s shows another)"))
}
