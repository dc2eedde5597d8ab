package growth

import (
	"strings"

	"github.com/heaplapse/heaplapse/internal/report/holders"
)

// heapIsSmall reports whether the heap explains so little of the resident memory that a reader asks where the rest is.
func (g *Report) heapIsSmall() bool {
	const small = 0.6
	r := g.Result
	return r.LastRSS > 0 && float64(r.LastHeap) < small*float64(r.LastRSS)
}

// resident are the lines that tell where the resident memory is, if the heap explains little of it.
func (g *Report) resident() []string {
	if g.Resident == nil || !g.heapIsSmall() {
		return nil
	}
	var b strings.Builder
	report := holders.RSS{Result: g.Resident, Width: g.width()}
	if report.Text(&b) != nil {
		return nil
	}
	lines := []string{"", "where the resident memory was when the recorder looked last:"}
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines
}
