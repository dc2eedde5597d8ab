package growth

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/ages"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// oldShare is the share of what a site has in use that was allocated in the first half of the judged snapshots, as
// text; "" if that is not known.
func (g *Report) oldShare(s *growth.Site) string {
	share, ok := g.Ages.Old(s.Members)
	if !ok {
		return ""
	}
	return units.Percent(share)
}

// survival are the lines that tell, of what a site allocated in each eighth of the judged time, how much was still in
// use at the end of each eighth; none if that is not known.
func (g *Report) survival(s *growth.Site) (lines []string) {
	cohorts := g.Ages.Of(s.Members)
	if len(cohorts) < 2 {
		return nil
	}
	const cell = 9
	head := strings.Builder{}
	for _, index := range g.Ages.Ends {
		fmt.Fprintf(&head, " %*s", cell, fmt.Sprintf("#%d", index+1))
	}
	lines = append(lines, "in use at snapshot"+head.String())
	for part := range ages.Parts {
		row, any := strings.Builder{}, false
		for _, c := range cohorts {
			any = any || c[part] > 0
			if c[part] == 0 && !any {
				fmt.Fprintf(&row, " %*s", cell, "")
				continue
			}
			fmt.Fprintf(&row, " %*s", cell, units.Bytes(c[part]))
		}
		if any {
			lines = append(lines, text.Pad(fmt.Sprintf("from eighth %d", part+1), len("in use at snapshot"))+row.String())
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return lines
}
