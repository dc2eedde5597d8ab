package growth

import (
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
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

// survival are the lines that tell, of what a site allocated in each part of the judged time, how much was still in use
// at the end of each part; none if that is not known.
func (g *Report) survival(s *growth.Site) []string {
	cohorts := g.Ages.Of(s.Members)
	if len(cohorts) < 2 {
		return nil
	}
	return siteview.Survival(g.Ages.Ends, cohorts)
}
