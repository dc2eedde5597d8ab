package growth

import (
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Reason returns the reason of a verdict as text.
func Reason(r *growth.Result) string {
	switch r.Why {
	case growth.SitesLeak:
		return units.Count(r.Leaks, "site") + grows(r.Leaks) + " to the end of the series"
	case growth.SitesSuspect:
		return units.Count(r.Suspects, "site") + grows(r.Suspects) + ", but not clearly to the end"
	case growth.TooFewSnapshots:
		verb := "are"
		if r.Len() == 1 {
			verb = "is"
		}
		return fmt.Sprintf("%s %s too few for a trend: at least %d are needed, %d or more are better",
			units.Count(r.Len(), "snapshot"), verb, trend.MinPoints, growth.GoodPoints)
	case growth.CauseLeaks:
		return "no single site leaks, but " + units.Count(r.Causes[0].Sites, "site") + " grow together below one function"
	case growth.OnlyHeapGrows:
		return "the heap grows, but no single site does"
	case growth.OnlyProcessGrows:
		return "no site of the heap grows to the end of the series, but the process does: see the note"
	}
	return "no site grows to the end of the series"
}

func grows(n int) string {
	if n == 1 {
		return " grows"
	}
	return " grow"
}

// RangeNotes returns the notes about snapshots that were not judged.
func RangeNotes(r sites.Range) (notes []string) {
	if n := r.Len() + r.AtExit; n < r.Of {
		why := ", as requested"
		if r.Images {
			why = ": one process image"
		}
		notes = append(notes, fmt.Sprintf("judged on snapshots %d to %d of %d%s", r.First+1, r.First+n, r.Of, why))
	}
	const exiting = " left out: the heap had shrunk to less than half, as when a program exits"
	switch r.AtExit {
	case 1:
		notes = append(notes, "the last snapshot was"+exiting)
	case 2:
		notes = append(notes, "the last two snapshots were"+exiting)
	}
	return notes
}

// noteText returns a note as text.
func noteText(n growth.Note) string {
	switch n.Kind {
	case growth.NoteFewSnapshots:
		return fmt.Sprintf("only %s: a filling cache may look like a leak; %d or more are better",
			units.Count(n.Snapshots, "snapshot"), growth.GoodPoints)
	case growth.NoteNoAlloc:
		return "no cumulative counts: growth caused by higher load may look like a leak"
	case growth.NoteProcessGrows:
		return fmt.Sprintf(
			"the process grew by %d MiB more than its heap: fragmentation, mmap, allocator arenas, thread stacks or GPU memory, which heap snapshots do not show",
			n.Bytes>>20,
		)
	}
	return fmt.Sprintf("note %d", n.Kind)
}

// leastUnlisted is the least growth of unlisted sites that gets a note, in bytes.
const leastUnlisted = 128 << 10

// Notes returns the notes below the table.
func (g *Report) Notes() []string {
	r := g.Result
	out := append([]string{}, RangeNotes(r.Range)...)
	for _, n := range r.Notes {
		out = append(out, noteText(n))
	}
	if r.LargestStable != nil {
		v := g.Describe(r.LargestStable)
		out = append(
			out,
			fmt.Sprintf(
				"%s grew most, by %s, but not long or steadily enough for a verdict: record for longer, or select its time with %s",
				v.Heading(),
				units.Bytes(r.LargestStable.Gained),
				g.Flags.Of(option.Since),
			),
		)
	}
	if r.SmallBytes > max((r.LastHeap-r.FirstHeap)/2, leastUnlisted) {
		out = append(
			out,
			fmt.Sprintf(
				"%s grew too little to be judged, by %s in total: use %s 64KiB to judge small sites, or %s file or module to judge them together",
				units.Count(r.Small, "site"),
				units.Bytes(r.SmallBytes),
				g.Flags.Of(option.MinBytes),
				g.Flags.Of(option.GroupBy),
			),
		)
	}
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

// Warnings are the warnings of the series, one of each kind.
func (g *Report) Warnings() []string {
	out := []string{}
	for _, w := range text.GroupWarnings(text.AllWarnings(g.Series, g.Flags)) {
		out = append(out, text.Message(w.Text()))
	}
	return out
}
