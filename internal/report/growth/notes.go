package growth

import (
	"fmt"
	"math"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/heapfile"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// RangeNotes returns the notes about snapshots that were not judged.
func RangeNotes(r sites.Range) (notes []string) {
	empty, idle := r.Count(sites.Empty), r.Count(sites.Idle)
	images, exits := r.Count(sites.OtherImage) > 0, r.Count(sites.AtExit)
	first := r.First - empty
	if n := empty + r.Len() + idle + exits; n < r.Of() {
		why := ", as requested"
		if images {
			why = ": one process image"
		}
		notes = append(notes, fmt.Sprintf("judged on snapshots %d to %d of %d%s", first+1, first+n, r.Of(), why))
	}
	if empty > 0 {
		notes = append(notes, fmt.Sprintf("snapshot %d was left out: "+
			"the program allocated nothing until shortly before snapshot %d", first+1, r.First+1))
	}
	if idle > 0 {
		notes = append(notes, fmt.Sprintf("snapshots %d to %d were left out: the process hardly ran after snapshot %d",
			r.Last+2, r.Last+1+idle, r.Last+1))
	}
	const exiting = " left out: the program exited then, and may have freed memory"
	switch {
	case exits == 1:
		notes = append(notes, "the last snapshot was"+exiting)
	case exits > 1:
		notes = append(notes, fmt.Sprintf("the last %d snapshots were%s", exits, exiting))
	}
	return notes
}

// PooledNote is the number of processes that are added up, and of those that are left out.
func PooledNote(pooled, left int) string {
	note := "the memory of " + units.CountOf(pooled, "process", "processes") + " is added up"
	if left > 0 {
		note += fmt.Sprintf("; %d left out, with too few snapshots or of another kind", left)
	}
	return note
}

// noteText returns a note as text. seen tells that the report also has where the resident memory was: the likely
// causes of resident memory that is no heap are then left out.
func noteText(n growth.Note, seen bool) string {
	switch n.Kind {
	case growth.NoteFewSnapshots:
		return fmt.Sprintf("only %s: a filling cache may look like a leak; %d or more are better",
			units.Count(n.Snapshots, "snapshot"), growth.GoodPoints)
	case growth.NoteNoAlloc:
		return "no cumulative counts: growth caused by higher load may look like a leak"
	case growth.NoteProcessGrows:
		grows := "the resident set grows to the end of the series, by " + units.Bytes(n.Bytes) + " more than the heap"
		return outsideHeap(grows, seen, "arenas of an interpreter or allocator, "+
			"mapped memory (mmap, GPU, thread stacks), shared memory, fragmentation, pages of mapped files")
	case growth.NoteProcessGrew:
		grew := fmt.Sprintf("the resident set grew by %s more than the heap, and has stopped", units.Bytes(n.Bytes))
		return outsideHeap(grew, seen, "the start of the program (libraries, arenas), pages of mapped files, "+
			"fragmentation")
	case growth.NoteSilentEnd:
		return silentEnd(n)
	}
	return fmt.Sprintf("note %d", n.Kind)
}

func outsideHeap(grows string, seen bool, causes string) string {
	note := grows + ". Heap snapshots do not show the cause; "
	if seen {
		return note + "see below where the resident memory was"
	}
	return note + "in order of likelihood: " + causes
}

func silentEnd(n growth.Note) string {
	ran := units.Duration(n.Time.Seconds())
	switch {
	case n.Still:
		return fmt.Sprintf("the program worked for %s after the last snapshot, without another one and without growth: "+
			"probably it no longer called malloc, and what grew before may have stopped; the built-in engine takes "+
			"snapshots of such a program", ran)
	case n.Timed:
		return fmt.Sprintf("the program ran for %s after the last snapshot, and took no other one, although a timer was due: "+
			"it no longer called malloc, or could not write the file", ran)
	}
	return fmt.Sprintf("the program ran for %s after the last snapshot, and did not allocate enough for another one", ran)
}

// chance returns the probability that the series leaks as text; empty if no verdict is possible.
func (g *Report) chance() string {
	if g.Result.Why.DataMissing() {
		return ""
	}
	return "chance of a leak: " + text.Percent(g.Result.Chance)
}

// chance returns the probability that the process leaks as text; empty if it has no verdict.
func (p *Process) chance() string {
	if p.Chance == nil {
		return ""
	}
	return "chance of a leak: " + text.Percent(*p.Chance)
}

// unseen tells how slow a leak can be that the recording does not show, and what would show it; "" if there is a leak.
func (g *Report) unseen() string {
	unit, factor := g.RateUnit()
	rate := g.Result.LeastRateSeen * factor
	if g.Result.Verdict != verdict.SeriesNoLeak || rate <= 0 || math.IsInf(rate, 0) {
		return ""
	}
	return fmt.Sprintf("a leak of less than %s per %s may be missed: %s", units.Bytes(rate), unit, g.closer())
}

const longer = "record for longer"

// closer is what would show slower leaks.
func (g *Report) closer() string {
	const fine = 64 << 10 // bytes
	if last := g.Series.Heads[g.Result.Last]; last.Format.Sampled() && last.Period > fine {
		return longer + ", with more samples (" + option.SamplePeriod + " 64KiB)"
	}
	return longer
}

// leastUnlisted is the least growth of unlisted sites that gets a note, in bytes.
const leastUnlisted = 128 << 10

// Notes returns the notes about the result. Those of a page say "see below where the resident memory was" if it is
// there: see [Report.ShowsResident].
func (g *Report) Notes(page bool) []string {
	seen := page && g.ShowsResident()
	r := g.Result
	out := []string{}
	if note := g.unseen(); note != "" {
		out = append(out, note)
	}
	out = append(out, RangeNotes(r.Range)...)
	if note := g.notJudgedNote(); note != "" {
		out = append(out, note)
	}
	if first := g.Series.Heads[r.First]; first.Format == heapfile.FormatGoroutines {
		out = append(out, fmt.Sprintf("these are goroutines, %d at first and %d at last; each counts as 2 KiB, its least stack",
			first.Heap().InuseObjects, g.Series.Heads[r.First+r.Len()-1].Heap().InuseObjects))
	}
	for _, n := range r.Notes {
		out = append(out, noteText(n, seen))
		if n.Kind != growth.NoteProcessGrew || r.Verdict != verdict.SeriesNoLeak {
			continue
		}
		if advice := siteview.AdviceBeside(g.Symbols, g.mallocOnly()); advice != "" {
			out = append(out, advice)
		}
	}
	if outside := g.muchOutside(); g.NoHolders != "" && (outside || r.Verdict == verdict.SeriesLeak) {
		rest := ""
		if outside {
			rest = ", and where that outside the heap is"
		}
		out = append(out, "the recorder did not look at what holds the memory"+rest+": "+text.Clean(g.NoHolders))
	}
	out = append(out, g.together()...)
	idle := g.idleEnd()
	if s := r.LargestStable; s != nil {
		out = append(out, fmt.Sprintf("%s grew most, by %s, but %s",
			g.Describe(s).Heading(), units.Bytes(s.Gained), g.whyStable(s)))
	}
	if idle != "" && r.Verdict != verdict.SeriesLeak && g.Next() != idle {
		out = append(out, idle)
	}
	if r.SmallBytes > max((r.LastHeap-r.FirstHeap)/2, leastUnlisted) {
		out = append(out, fmt.Sprintf("%s grew too little to be judged, by %s in total: use %s 64KiB to judge small sites, or "+
			"%s file or module to judge them together", units.Count(r.Small, "site"), units.Bytes(r.SmallBytes),
			option.MinBytes, option.GroupBy))
	}
	if note := g.sites().Lineless(g.rows()); note != "" {
		out = append(out, note)
	}
	out = append(out, g.lossNotes()...)
	for _, s := range r.Suppressed {
		why := ""
		if s.Reason != "" {
			why = " (" + text.Clean(s.Reason) + ")"
		}
		out = append(out, fmt.Sprintf("suppressed by leak:%s%s: %s with %s", text.Clean(s.Pattern), why,
			units.Count(s.Sites, "call path"), units.SignedBytes(s.Gained)))
	}
	return out
}

// whyStable tells why the site that grew most is no leak.
func (g *Report) whyStable(s *growth.Site) string {
	const early, most = 0.6, 0.8 // of the time, and of the growth
	at, first, last := g.Series.Clock.At, g.Result.First, g.Result.Last
	i := first
	for i < last && at[i+1]-at[first] <= early*(at[last]-at[first]) {
		i++
	}
	if float64(s.Bytes[i]-s.Bytes[first]) >= most*float64(s.Gained) {
		return fmt.Sprintf("most of it in the first %.0f %% of the time, like a cache that is full", 100*early)
	}
	return "not long or steadily enough to be called a leak"
}

// Warnings are the warnings of the series, and one of each kind in its files.
func (g *Report) Warnings() []string {
	out := []string{}
	for _, w := range pipeline.GroupWarnings(text.Advise(pipeline.AllWarnings(g.Series))) {
		out = append(out, text.Message(w.Text()))
	}
	return out
}
