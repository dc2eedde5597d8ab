package growth

import (
	"cmp"
	"fmt"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/sites"
	"github.com/heaplapse/heaplapse/heapfile/series"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
	"github.com/heaplapse/heaplapse/symbolize"
)

// siteKey identifies a site in all processes of a program. The zero value identifies none.
type siteKey struct {
	program    string
	site, path identity.Key
	line       int // of a script, whose rows are lines
	group      string
	heap       bool // not a site, but the whole heap
}

// keyOf returns the key of a site of the report.
func (g *Report) keyOf(v siteview.View) siteKey {
	program := programOf(&g.Series.Process)
	switch {
	case v.Group != "":
		return siteKey{program: program, group: v.Group}
	case v.Keys.Kind == identity.KeyNone:
		return siteKey{}
	case g.GroupBy == sites.ByStack:
		return siteKey{program: program, site: v.Keys.Site, path: v.Keys.Path}
	case v.Keys.Kind == identity.KeyScript:
		return siteKey{program: program, site: v.Keys.Site, line: v.Blame.Line}
	}
	return siteKey{program: program, site: v.Keys.Site}
}

// programOf tells the programs of a recording apart.
func programOf(p *series.Process) string { return cmp.Or(p.Exe, p.Prefix) }

// describeSites describes the sites that can be called leaks.
func (g *Report) describeSites() map[symbolize.SiteID]describedSite {
	out := map[symbolize.SiteID]describedSite{}
	for i := range g.Result.Sites {
		if s := &g.Result.Sites[i]; s.CanLeak {
			v := g.Describe(s)
			out[s.Members[0]] = describedSite{g.keyOf(v), v.Heading(), v.Blame}
		}
	}
	return out
}

// describeCause describes the cause that leaks; nil if there is none.
func (g *Report) describeCause() *describedSite {
	c := g.cause()
	if c == nil {
		return nil
	}
	v := g.DescribeCause(c)
	return &describedSite{heading: v.Heading(), blame: v.Blame}
}

// Pools are what the processes of a recording show of each site, and of the heap of each program.
type Pools map[siteKey][]growth.Evidence

// heapOf is the key of the heap of a program as a whole.
func heapOf(p *series.Process) siteKey { return siteKey{program: programOf(p), heap: true} }

// PoolsOf collects the evidence of processes.
func PoolsOf(all []Process) Pools {
	pools := Pools{}
	for i := range all {
		for key, e := range all[i].evidence {
			pools[key] = append(pools[key], e)
		}
	}
	return pools
}

// evidence is what the process of the report shows of each site that grew, whether it is listed or
// not, and of the heap, in the time that was judged. Of functions that differ only in their
// template arguments, the likeliest counts.
func (g *Report) evidence(time float64) map[siteKey]growth.Evidence {
	r, out := g.Result, map[siteKey]growth.Evidence{}
	if time <= 0 {
		return out
	}
	if r.Total.CanLeak {
		out[heapOf(&g.Series.Process)] = growth.Evidence{
			Confidence: r.Total.Confidence, Time: time, Gained: r.LastHeap - r.FirstHeap, Held: r.LastHeap,
		}
	}
	for _, list := range [...][]growth.Site{r.Sites, r.Stable} {
		for i := range list {
			s := &list[i]
			if !s.CanLeak {
				continue
			}
			if key := g.keyOf(g.Describe(s)); key != (siteKey{}) {
				e := out[key]
				out[key] = growth.Evidence{
					Confidence: max(e.Confidence, s.Confidence), Time: time, Gained: e.Gained + s.Gained, Held: e.Held + s.Held,
				}
			}
		}
	}
	return out
}

// Pooled returns the verdict on a process with what all processes show.
func (pools Pools) Pooled(p Process, o growth.Options) Process {
	if p.result == nil {
		return p
	}
	of := func(s *growth.Site) []growth.Evidence { return pools[p.sites[s.Members[0]].key] }
	p.result = p.result.Pooled(of, pools[heapOf(&p.Process)], o)
	p.conclude()
	return p
}

// Pool gives the report the verdicts that all processes show together.
func (g *Report) Pool(pools Pools, o growth.Options) {
	described := g.describeSites()
	of := func(s *growth.Site) []growth.Evidence { return pools[described[s.Members[0]].key] }
	g.Result = g.Result.Pooled(of, pools[heapOf(&g.Series.Process)], o)
}

// elsewhere tells of sites that leak in other processes, and are not in the table of this one.
func (g *Report) elsewhere() (out []string) {
	const most = 3
	if len(g.Processes) < 2 { // describing all sites takes time
		return nil
	}
	told := map[siteKey]bool{}
	for _, d := range g.describeSites() {
		told[d.key] = true
	}
	for i := range g.Processes {
		p := &g.Processes[i]
		if p.Shown || p.result == nil {
			continue
		}
		for k := range p.result.Sites {
			s := &p.result.Sites[k]
			d, described := p.sites[s.Members[0]]
			if !described || !s.Label.IsLeak() || told[d.key] || len(out) == most {
				continue
			}
			told[d.key] = true
			name := text.Clean(p.Name())
			line := fmt.Sprintf("leaks in process %s: %s, %s, chance of a leak: %s", name, d.heading,
				units.SignedBytes(float64(s.Gained)), text.Percent(s.Confidence))
			out = append(out, line+g.Flags.If(option.Process, "; %s %s shows it", name))
		}
	}
	return out
}
