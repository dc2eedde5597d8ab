package report

import (
	"fmt"
	"io"

	"github.com/heaplapse/heaplapse/diff/gate"
)

// Gate is the answer to "did anything regress?".
type Gate struct {
	*gate.Result
	// Top limits the rows in text; 0 shows 20.
	Top int
}

// Text writes the verdict and the table for people.
func (g *Gate) Text(w io.Writer) error {
	p := &printer{w: w}
	p.linef("%s: %s", map[gate.Verdict]string{gate.Pass: "PASS", gate.Fail: "FAIL"}[g.Verdict], g.Why)
	g.row(p, &g.Total, "the heap as a whole")
	for i := range firstRows(g.Rows, g.Top) {
		g.row(p, &g.Rows[i], clip(g.Rows[i].Function, 90))
	}
	for _, n := range g.Notes {
		p.linef("note: %s", clean(n))
	}
	return p.err
}

func (g *Gate) row(p *printer, r *gate.Row, name string) {
	p.linef("%-10s %s", r.Status, name)
	for _, v := range r.Values {
		mark := ""
		if v.Exceeds {
			mark = "  <-"
		}
		p.linef("           %-9s %-6s %12s -> %12s  %12s  moved %s  z %.1f%s", v.Metric, v.Base, bytesOf(v.Before), bytesOf(v.After),
			signed(v.Delta()), bytesOf(v.Moved), v.Z, mark)
	}
	if len(r.MovedWith) > 0 {
		p.linef("           with %s", clip(fmt.Sprint(r.MovedWith), 90))
	}
}
