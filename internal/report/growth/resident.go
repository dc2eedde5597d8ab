package growth

import (
	"slices"
	"strings"
	"time"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/units"
)

// ShowsResident reports whether the report tells where the resident memory was: if that is known, and much of it is
// outside the heap.
func (g *Report) ShowsResident() bool { return g.Resident != nil && g.muchOutside() }

// muchOutside reports whether much of the resident memory is outside the heap, both as a share and in bytes. Fewer
// bytes count if a note says that the memory outside grew.
func (g *Report) muchOutside() bool {
	const small, leastRest = 0.6, 16 << 20
	r := g.Result
	if float64(r.LastHeap) >= small*float64(r.LastRSS) {
		return false
	}
	grew := func(n growth.Note) bool { return n.Kind == growth.NoteProcessGrows || n.Kind == growth.NoteProcessGrew }
	return r.LastRSS-r.LastHeap >= leastRest || slices.ContainsFunc(r.Notes, grew)
}

// looked is the time of the last look, and how much earlier than the last judged snapshot it was.
func (g *Report) looked() string {
	said := "as of " + g.Looked.UTC().Format(time.DateTime) + " UTC"
	times := g.Series.Clock.Times
	if g.Result.Last >= len(times) {
		return said
	}
	if before := times[g.Result.Last].Sub(g.Looked); before >= time.Second {
		said += ", " + units.Duration(before.Seconds()) + " before the last judged snapshot"
	}
	return said
}

// resident are the lines that tell where the resident memory is, if the heap explains little of it.
func (g *Report) resident(width int) []string {
	if !g.ShowsResident() {
		return nil
	}
	var b strings.Builder
	const least = 0.03
	report := holders.RSS{Result: g.Resident, Width: width, Least: least}
	if report.Text(&b) != nil {
		return nil
	}
	lines := []string{"", "where the resident memory was when the recorder looked last, " + g.looked() + ":"}
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}
