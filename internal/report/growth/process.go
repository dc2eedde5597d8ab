package growth

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/processes"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Process is the verdict on a process of a recording, and what is said of its sites when its series
// is closed.
type Process struct {
	*processes.Judged
	// Heap is the size of the heap; nil if the process was not judged.
	Heap *Heap
	// Losses are what other tools found at the sites that leak or may leak, Lost the stable sites
	// with lost memory, and Records what other tools found at all sites.
	Losses  []*evidence.Record
	Lost    []LostSite
	Records []*evidence.Record
	// Shown reports whether the rest of the report is about this process.
	Shown bool

	// sites describes those that may leak, by their first member, and cause the cause that leaks.
	sites map[symbolize.SiteID]describedSite
	cause describedSite
}

// describedSite is a site of a process whose report is gone.
type describedSite struct {
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

// OwnProcess returns the verdict on the process of the report. It does not refer to the series.
func (g *Report) OwnProcess() Process {
	r := g.Result
	unit, factor := g.RateUnit()
	p := Process{
		Judged: g.Process,
		Heap: &Heap{
			Now: r.LastHeap, Gained: r.LastHeap - r.FirstHeap,
			Rate: text.Finite(r.Total.Slope * factor), RatePer: unit, PerHour: g.perHour(r.Total.Slope),
		},
		sites: map[symbolize.SiteID]describedSite{},
	}
	for i := range r.Sites {
		if s := &r.Sites[i]; s.CanLeak {
			v := g.Describe(s)
			p.sites[s.Members[0]] = describedSite{v.Heading(), v.Blame}
		}
	}
	if c := g.cause(); c != nil {
		v := g.DescribeCause(c)
		p.cause = describedSite{v.Heading(), v.Blame}
	}
	if r.RSS != nil {
		rss := r.LastRSS
		p.Heap.RSS = &rss
	}
	if g.Losses != nil {
		p.Losses, p.Lost, p.Records = g.suspectLosses(), g.lostSites(), g.Losses.Records()
	}
	return p
}

// worst is the cause or the site that leaks, or may leak; nil if there is none.
func (p *Process) worst() *describedSite {
	s, isCause := p.Worst()
	if s == nil {
		return nil
	}
	described := p.cause
	if !isCause {
		described = p.sites[s.Members[0]]
	}
	return &described
}

// judged are the processes that have a verdict, or only miss data.
func (g *Report) judged() (out []Process) {
	for _, p := range g.Processes {
		if p.NotJudged == "" {
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

// notJudgedNote is the number of processes that were not judged, and why; empty if there are none
// besides that of the report.
func (g *Report) notJudgedNote() string {
	count, reasons := map[string]int{}, []string{}
	for i := range g.Processes {
		p := &g.Processes[i]
		if p.NotJudged == "" || p.Shown {
			continue
		}
		if count[p.NotJudged]++; count[p.NotJudged] == 1 {
			reasons = append(reasons, p.NotJudged)
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
	t := g.processTable()
	if t == nil {
		return
	}
	p.Linef("")
	t.Markdown(p, g.Top)
	p.Linef("")
	p.Linef("%s", text.Sentence(g.shown()))
}

// shown is the process that the lines below it are about.
func (g *Report) shown() string {
	return fmt.Sprintf("process %s (%s shows another)", text.Clean(g.Series.Process.Name()), option.Process)
}
