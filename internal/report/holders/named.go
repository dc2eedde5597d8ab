package holders

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/symbolize"
)

// NamedSite is what was seen of the call paths that are attributed to one line of code.
type NamedSite struct {
	siteview.Blame
	title string
	pipeline.HeldSite
}

// NamedSites returns what was seen of the sites of a series, those with most old samples first.
func NamedSites(in *pipeline.Input, seen pipeline.Holders, o siteview.Options) (list []NamedSite) {
	d := siteview.NewDescriber(in.Symbols, o)
	rows := map[siteview.Blame][]symbolize.SiteID{}
	for id := range seen {
		blame := d.View([]symbolize.SiteID{id}).Blame
		blame.Own, blame.Script = nil, nil // those of the call path
		rows[blame] = append(rows[blame], id)
	}
	for blame, ids := range rows {
		slices.Sort(ids)
		v := d.View(ids[:1])
		list = append(list, NamedSite{blame, text.Join("  ", v.Title(), v.Where), seen.Of(ids)})
	}
	slices.SortFunc(list, func(a, b NamedSite) int {
		return cmp.Or(cmp.Compare(b.Old, a.Old), cmp.Compare(b.Live, a.Live), cmp.Compare(a.title, b.title))
	})
	return list
}
