package growth

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/holders"
)

// ShowsResident reports whether the report tells where the resident memory was: if that is known, and the heap explains
// so little of it that a reader asks.
func (g *Report) ShowsResident() bool {
	const small = 0.6
	r := g.Result
	return g.Resident != nil && r.LastRSS > 0 && float64(r.LastHeap) < small*float64(r.LastRSS)
}

// resident are the lines that tell where the resident memory is, if the heap explains little of it.
func (g *Report) resident(width int) []string {
	if !g.ShowsResident() {
		return nil
	}
	var b strings.Builder
	report := holders.RSS{Result: g.Resident, Width: width}
	if report.Text(&b) != nil {
		return nil
	}
	lines := []string{"", "where the resident memory was when the recorder looked last:"}
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}
