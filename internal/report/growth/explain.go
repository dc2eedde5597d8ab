package growth

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/measure"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// selected is a site to explain.
type selected struct {
	site *growth.Site
	rank int // in the table, from 1; 0 for a cause, and for a stable site, which the table leaves out
	view siteview.View
	// cause reports whether the site is the sum of a cause.
	cause bool
	// caller is the caller of the site that was asked for; nil if it was the site itself.
	caller *siteview.Caller
}

// explained are the causes and sites that Explain selects. The callers of sites and stable sites are searched
// only if it selects no other.
func (g *Report) explained() ([]selected, error) {
	sites := g.Result.Sites
	if rank, err := strconv.Atoi(g.Explain); err == nil {
		if rank < 1 || rank > len(sites) {
			return nil, fmt.Errorf("%s %d: the table has %s; use a part of its name to explain any other site",
				option.Explain, rank, units.Count(len(sites), "site"))
		}
		return []selected{{site: &sites[rank-1], rank: rank, view: g.Describe(&sites[rank-1])}}, nil
	}
	pattern, err := regexp.Compile(g.Explain)
	var out []selected
	for i := range g.Result.Causes {
		c := &g.Result.Causes[i]
		if v := g.DescribeCause(c); g.matches(v, pattern) {
			out = append(out, selected{site: &c.Site, view: v, cause: true})
		}
	}
	for i := range sites {
		if v := g.Describe(&sites[i]); g.matches(v, pattern) {
			out = append(out, selected{site: &sites[i], rank: i + 1, view: v})
		}
	}
	if len(out) == 0 {
		out = g.calledBy(pattern)
		for i := range g.Result.Stable {
			s := &g.Result.Stable[i]
			if v := g.Describe(s); g.matches(v, pattern) {
				out = append(out, selected{site: s, view: v})
			}
		}
	}
	switch {
	case len(out) == 0 && err != nil:
		return nil, fmt.Errorf(`%s %s: no site has this name, and it is no regular expression; a \ before ( [ * + ? . takes them literally`,
			option.Explain, text.Clean(g.Explain))
	case len(out) == 0:
		return nil, fmt.Errorf(
			"%s %s: no judged site has this name, and no caller of a site in the table; %s lists all functions, %s stack judges each call path",
			option.Explain, text.Clean(g.Explain), option.TopCommand, option.GroupBy,
		)
	}
	return out, nil
}

// calledBy are the sites of the table of which Explain selects a caller, such as one on the "←" line below a row.
func (g *Report) calledBy(pattern *regexp.Regexp) (out []selected) {
	for i := range g.Result.Sites {
		s := &g.Result.Sites[i]
		caller, ok := g.sites().Caller(s.Members, func(c siteview.Caller) bool {
			return g.isNamed(pattern, c.Name+" "+c.Where, c.Name+"  "+c.Where)
		})
		if ok {
			out = append(out, selected{site: s, rank: i + 1, view: g.Describe(s), caller: &caller})
		}
	}
	return out
}

// matches reports whether Explain is a part of what a site is called, or the pattern matches it.
// The pattern may be nil.
func (g *Report) matches(v siteview.View, pattern *regexp.Regexp) bool {
	names := []string{v.Blame.Function, v.Headline(), v.Blame.Module}
	for _, place := range append(v.Places(), v.Where) {
		names = append(names, v.Title()+" "+place, v.Title()+"  "+place)
	}
	return g.isNamed(pattern, names...)
}

// isNamed reports whether Explain is a part of one of some names, or the pattern matches it. The pattern may be nil.
func (g *Report) isNamed(pattern *regexp.Regexp, names ...string) bool {
	for _, name := range names {
		if strings.Contains(name, g.Explain) || pattern != nil && pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// explain writes the measurements that the verdicts on some sites rest on.
func (g *Report) explain(p *text.Printer) error {
	sites, err := g.explained()
	if err != nil {
		return err
	}
	shown := text.FirstRows(sites, g.Top)
	for _, s := range shown {
		p.Linef("")
		g.explainSite(p, s)
	}
	if n := len(sites) - len(shown); n > 0 {
		p.Linef("")
		p.Linef("… and %s with this name: %s %d explains them", units.Count(n, "more site"), option.Top, len(sites))
	}
	return nil
}

// explained begins a line about a site: with what it is about, in explainedWidth columns.
const (
	explained      = "   %-9s "
	explainedWidth = 13
)

func (g *Report) explainSite(p *text.Printer, c selected) {
	s := c.site
	number := "–"
	if c.rank > 0 {
		number = strconv.Itoa(c.rank)
	}
	v := c.view
	what, chance := meaning(s)
	p.Linef("%s  %s: %s, %s", number, strings.TrimSpace(v.Title()+"  "+v.Where), s.Label, text.Join("; ", what, chance))
	if c.caller != nil {
		p.Linef(explained+"%s calls it: memory is attributed to the function that requests it, not to its callers", "caller", c.caller)
	}
	if on := v.OnLines(); on != "" {
		p.Linef(explained+"its call paths are %s of the function", "lines", on)
	}
	if !measured(s) {
		return
	}
	if line := parts(s); line != "" {
		p.Linef(explained+"%s; the lines below are about the first of these parts", "parts", line)
	}
	unit, factor := g.RateUnit()
	for _, m := range measure.Lines(s, unit, factor, !g.Series.Heads[g.Result.First].NoObjects) {
		p.Linef(explained+"%s", m.Of, m.Text)
	}
	for i, line := range g.survival(s) {
		of := ""
		if i == 0 {
			of = "births"
		}
		p.Linef(explained+"%s", of, line)
	}
	held := holders.Lines(g.Holders.Of(s.Members).Held)
	for _, line := range held {
		p.Linef("   %s", line)
	}
	if len(held) > 0 {
		p.Linef("     %s", g.looked())
	}
	for _, line := range g.stacks(s, max(1, g.Stacks)) {
		p.Linef("%s", line)
	}
}

// measured reports whether there were enough snapshots to measure anything.
func measured(s *growth.Site) bool { return s.Features.Measured() }

// meaning returns an explanation of the verdict, and how likely a leak is; that is empty if it is not
// known.
func meaning(s *growth.Site) (what, chance string) {
	switch {
	case !measured(s), s.Label == verdict.Insufficient:
	case s.ImportShare > 0 || s.Pool != nil:
		chance = "the chance of a leak is " + text.Percent(s.Confidence)
	default:
		chance = text.Percent(s.Confidence) + " of simulated sites with such measurements leak"
	}
	return s.Label.Meaning(), chance
}

// Meaning explains the verdict on a site in at most two sentences.
func Meaning(s *growth.Site) string { return text.Sentences(meaning(s)) }

// Meaning explains the verdict on the series in at most two sentences.
func (g *Report) Meaning() string { return text.Sentences(g.reason(), g.chance()) }

// Labels are the verdicts on sites and their meanings, in order.
func Labels() (out [][2]string) {
	for _, l := range verdict.Sites() {
		out = append(out, [2]string{l.String(), text.Sentences(l.Meaning(), "")})
	}
	return out
}

// survival are the lines that tell, of what a site allocated in each part of the judged time, how much was still in use
// at the end of each part; none if that is not known.
func (g *Report) survival(s *growth.Site) []string {
	cohorts := g.Ages.Of(s.Members)
	if len(cohorts) < 2 {
		return nil
	}
	return siteview.Survival(g.Ages.Ends, cohorts, max(0, g.width()-explainedWidth))
}
