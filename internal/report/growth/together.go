package growth

import (
	"fmt"

	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// together tells which rows of the table the same variable holds, and how much they grew: to empty it frees
// them all. Only sites that leak or may leak count.
func (g *Report) together() (notes []string) {
	type group struct {
		rows   []string
		gained int64
	}
	var order []string
	of := map[string]*group{}
	for i, s := range text.FirstRows(g.Result.Sites, g.Top) {
		by := holders.Variable(g.Holders.Of(s.Members).Held)
		if by == "" || !s.Label.IsSuspicious() {
			continue
		}
		if of[by] == nil {
			of[by] = &group{}
			order = append(order, by)
		}
		of[by].rows = append(of[by].rows, fmt.Sprint(i+1))
		of[by].gained += s.Gained
	}
	for _, by := range order {
		if n := of[by]; len(n.rows) > 1 {
			notes = append(notes, fmt.Sprintf("rows %s are held by %s: %s together", text.And(n.rows...), by,
				units.SignedBytes(n.gained)))
		}
	}
	return notes
}
