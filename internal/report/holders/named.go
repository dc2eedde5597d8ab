package holders

import (
	"cmp"
	"slices"

	"github.com/heaplapse/heaplapse/internal/pipeline"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/symbolize"
)

// NamedSite is what was seen of the call paths that are attributed to one line of code.
type NamedSite struct {
	siteview.Blame
	title string
	pipeline.HeldSite
}

// NamedSites returns what was seen of the sites of a series, those with most old samples first.
func NamedSites(in *pipeline.Input, seen pipeline.Holders, o siteview.Options) []NamedSite {
	d := siteview.NewDescriber(in.Symbols, o)
	rows := map[siteview.Blame][]symbolize.SiteID{}
	titles := map[siteview.Blame]string{}
	for id := range seen {
		v := d.View([]symbolize.SiteID{id})
		blame := v.Blame
		blame.Own, blame.Script = nil, nil // those of the call path
		rows[blame] = append(rows[blame], id)
		titles[blame] = cmp.Or(v.Title()+"  "+v.Where, titles[blame])
	}
	var list []NamedSite
	for blame, ids := range rows {
		slices.Sort(ids)
		list = append(list, NamedSite{blame, titles[blame], seen.Of(ids)})
	}
	slices.SortFunc(list, func(a, b NamedSite) int {
		return cmp.Or(cmp.Compare(b.Old, a.Old), cmp.Compare(b.Live, a.Live), cmp.Compare(a.title, b.title))
	})
	return list
}
