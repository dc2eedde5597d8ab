package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/verdict"
)

// maxPooled is the largest number of rows in the table of the sites of all processes.
const maxPooled = 200

// Pooled is a site in all processes that have it.
type Pooled struct {
	Title string `json:"title"`
	Where string `json:"where"`
	// Growth, Now and Rate are sums. Rate is nil if those of the processes have different units.
	Growth int64    `json:"growth_bytes"`
	Now    int64    `json:"now_bytes"`
	Rate   *float64 `json:"rate"`
	// Processes are the number of processes that have the site, and Leaks those in which it leaks.
	Processes int `json:"processes"`
	Leaks     int `json:"leaks"`
	// Parts are the site in the processes, the one with the most alarming verdict first.
	Parts []Part `json:"parts"`
}

// Part is a site in one process.
type Part struct {
	Process    string  `json:"process"`
	Site       int     `json:"site"` // its rank in the process, from 0
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
	Growth     int64   `json:"growth_bytes"`
	Now        int64   `json:"now_bytes"`
	Rate       float64 `json:"rate"`

	label   verdict.Site
	meaning string
	process int // index of the model
}

// siteKey is what the same site of several processes has in common.
type siteKey struct {
	identity.Key
	title, where string
}

// pool returns the sites of several processes, the most alarming first; nil if there is only one
// process. Sites that are stable in all processes are left out.
func pool(models []*Model) (out []Pooled) {
	if len(models) < 2 {
		return nil
	}
	index := map[siteKey]int{}
	for k, m := range models {
		for i := range m.Sites {
			s := &m.Sites[i]
			if s.key == 0 {
				continue // a group of sites
			}
			at := intern(index, &out, siteKey{s.key, s.Title, s.Where}, func() Pooled {
				return Pooled{Title: s.Title, Where: s.Where, Rate: new(float64)}
			})
			out[at].add(Part{
				Process: m.process, Site: i, Label: s.Label, Confidence: s.Confidence, Growth: s.Growth, Now: s.Now,
				Rate: s.Rate, label: s.label, meaning: s.Meaning, process: k,
			}, m.RatePer == models[0].RatePer)
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].Parts, func(a, b Part) int {
			return cmp.Or(
				cmp.Compare(a.label, b.label), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Growth, a.Growth))
		})
	}
	out = slices.DeleteFunc(out, func(p Pooled) bool { return p.Parts[0].label >= verdict.Stable })
	slices.SortStableFunc(out, func(a, b Pooled) int {
		return cmp.Or(cmp.Compare(a.Parts[0].label, b.Parts[0].label), cmp.Compare(b.Growth, a.Growth))
	})
	return out[:min(len(out), maxPooled)]
}

// add adds the site in a process. sameUnit reports whether the unit of its rate is that of the
// page.
func (p *Pooled) add(part Part, sameUnit bool) {
	if n := len(p.Parts); n == 0 || p.Parts[n-1].process != part.process {
		p.Processes++
	}
	p.Growth, p.Now = p.Growth+part.Growth, p.Now+part.Now
	if p.Rate != nil {
		*p.Rate += part.Rate
	}
	if !sameUnit {
		p.Rate = nil
	}
	if part.label.IsLeak() {
		p.Leaks++
	}
	p.Parts = append(p.Parts, part)
}

// in is the number of processes that have the site, as text.
func (p *Pooled) in() string {
	if p.Leaks == 0 || p.Processes == 1 {
		return fmt.Sprint(p.Processes)
	}
	return fmt.Sprintf("%d, leaks in %d", p.Processes, p.Leaks)
}
