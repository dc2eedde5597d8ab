package growth

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/option"
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
				g.Flags.Of(option.Explain), rank, units.Count(len(sites), "site"))
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
		return nil, fmt.Errorf("%s: no site has this name, and it is not a regular expression: %w",
			g.Flags.Of(option.Explain), err)
	case len(out) == 0:
		return nil, fmt.Errorf(
			"%s %s: no judged site has this name, and no caller of a site in the table; heaplapse top lists all functions, %s stack judges each call path",
			g.Flags.Of(option.Explain), text.Clean(g.Explain), g.Flags.Of(option.GroupBy),
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
	return g.isNamed(pattern, v.Blame.Function, v.Title()+" "+v.Where, v.Title()+"  "+v.Where, v.Headline(),
		v.Blame.Module)
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
		p.Linef("… and %s with this name%s", units.Count(n, "more site"),
			g.Flags.If(option.Top, ": %s %d explains them", len(sites)))
	}
	return nil
}

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
		p.Linef("   %-9s %s calls it: memory is attributed to the function that requests it, not to its callers", "caller", c.caller)
	}
	if !measured(s) {
		return
	}
	if line := parts(s); line != "" {
		p.Linef("   %-9s %s; the lines below are about the first of these parts", "parts", line)
	}
	for _, m := range g.measurements(s) {
		p.Linef("   %-9s %s", m.of, m.text)
	}
	for _, line := range g.stacks(s, max(1, g.Stacks)) {
		p.Linef("%s", line)
	}
}

// measured reports whether there were enough snapshots to measure anything.
func measured(s *growth.Site) bool {
	return s.Label != verdict.Insufficient && s.Features[trend.FeaturePoints] != 0
}

// meaning returns an explanation of the verdict, and how likely a leak is; that is empty if it is not
// known.
func meaning(s *growth.Site) (what, chance string) {
	switch {
	case !measured(s):
	case s.ImportShare > 0 || s.Pool != nil:
		chance = "the chance of a leak is " + Percent(s.Confidence)
	default:
		chance = Percent(s.Confidence) + " of simulated sites with such measurements leak"
	}
	return s.Label.Meaning(), chance
}

// Meaning explains the verdict on a site in at most two sentences.
func Meaning(s *growth.Site) string { return text.Sentences(meaning(s)) }

// Meaning explains the verdict on the series in at most two sentences.
func (g *Report) Meaning() string { return text.Sentences(g.Result.Reason(), g.chance()) }

// Labels are the verdicts on sites and their meanings, in order.
func Labels() (out [][2]string) {
	for _, l := range verdict.Sites() {
		out = append(out, [2]string{l.String(), text.Sentences(l.Meaning(), "")})
	}
	return out
}

// measurement is one line of an explanation.
type measurement struct{ of, text string }

func (g *Report) measurements(s *growth.Site) []measurement {
	f := &s.Features
	unit, factor := g.RateUnit()
	list := []measurement{
		{
			"trend",
			fmt.Sprintf(
				"%s per %s (95 %% interval: %s to %s); rises outweigh falls by %.1f standard deviations (chance gives 2.3 or more once in 100 times)",
				units.SignedBytes(s.Slope*factor),
				unit,
				units.SignedBytes(s.Low*factor),
				units.SignedBytes(s.High*factor),
				f[trend.FeatureSignificance],
			),
		},
		{"noise", noise(s)},
		{"steps", steps(f)},
		{"end", ending(f)},
		{"work", work(s)},
		{"shape", shape(f)},
		{"load", load(f)},
	}
	if !g.Series.Heads[g.Result.First].NoObjects {
		list = append(list, measurement{"objects", objects(f)})
	}
	if f[trend.FeatureSampling] > 0 {
		list = append(list, measurement{"sampling",
			fmt.Sprintf("the standard error from sampling is %.0f %% of the growth", 100*f[trend.FeatureSampling])})
	}
	if s.ImportShare > 0 {
		list = append(list, measurement{"imports", fmt.Sprintf(
			"%.0f %% of the growth is code of Python modules that are imported, which runs once; the chance of a leak is that of the rest",
			100*s.ImportShare)})
	}
	if f[trend.FeatureHighWater] == 1 {
		list = append(list, measurement{"trigger",
			"snapshots were taken at record highs of the heap, so its largest sites seem to rise"})
	}
	return list
}

func noise(s *growth.Site) string {
	if s.Sigma < 1 {
		return "it does not vary around the trend"
	}
	return fmt.Sprintf("it varies by %s around the trend; the growth is %.1f times that",
		units.Bytes(int64(s.Sigma)), s.Features[trend.FeatureClarity])
}

func steps(f *trend.Features) string {
	evenness := f[trend.FeatureEvenness]
	how := "in a few jumps"
	switch {
	case evenness > 0.6:
		how = "in even steps"
	case evenness > 0.25:
		how = "in uneven steps"
	}
	return fmt.Sprintf("it rises %s (evenness %.2f of 1); the net growth is %.0f %% of the total movement up and down",
		how, evenness, 100*f[trend.FeatureDirectness])
}

func ending(f *trend.Features) string {
	line := fmt.Sprintf("the last 40 %% of the time grow at %.0f %% of the mean rate, the last 25 %% at %.0f %%",
		100*f[trend.FeatureTail], 100*f[trend.FeatureEnd])
	if f[trend.FeatureGap] > 0.7 {
		line += "; the last peak is old (" + probability(math.Exp(-f[trend.FeatureGap])) + ")"
	}
	return line
}

// work describes the end over the work of the process. A leak may seem to stop because the process
// does less work.
func work(s *growth.Site) string {
	f := &s.Features
	switch {
	case s.WorkIsLoad:
		return "the process works faster because more is allocated at a time, so that the site is judged over time only"
	case f[trend.FeatureWorkKnown] != 1:
		return "unknown: neither cumulative counts nor processor time were recorded"
	}
	return fmt.Sprintf(
		"the process works %.2f times as fast at the end as at the start; over its work, the last 40 %% grow at %.0f %% of the mean rate",
		math.Exp(f[trend.FeaturePace]), 100*f[trend.FeatureWorkTail])
}

// probability is a probability in percent.
func probability(p float64) string {
	if p < 0.001 {
		return "p < 0.1 %"
	}
	return fmt.Sprintf("p = %.1f %%", 100*p)
}

func shape(f *trend.Features) string {
	line := fmt.Sprintf("a curve that levels off %s; a rise to a plateau %s", againstLine(f[trend.FeatureSaturation]),
		againstLine(f[trend.FeaturePlateau]))
	if f[trend.FeatureBeside] > clearlyBeside {
		line += fmt.Sprintf(
			"; a curve plus a line fits clearly better than the curve alone, and the line carries %.0f %% of the growth",
			100*min(1, f[trend.FeatureLine]),
		)
	}
	return line
}

// againstLine compares a model's residuals with those of a line; ln is the logarithm of their
// ratio.
func againstLine(ln float64) string {
	if ln > -0.2 {
		return "fits no better than a line"
	}
	return fmt.Sprintf("fits better than a line (with %.0f %% of its residuals)", 100*math.Exp(ln))
}

// clearlyBeside is the value of FeatureBeside above which a line beside the curve is mentioned.
// Chance does not reach it.
const clearlyBeside = 3

func load(f *trend.Features) string {
	if f[trend.FeatureAllocKnown] != 1 {
		return "unknown: the snapshots have no cumulative counts"
	}
	line := fmt.Sprintf(
		"it allocates %.2f times as fast at the end as at the start; %.0f %% of what it allocated is still in use; the leak model explains %.0f %% of the growth (%.1f standard errors)",
		math.Exp(f[trend.FeatureLoad]),
		100*f[trend.FeatureRetention],
		100*min(1, f[trend.FeatureLeakShare]),
		f[trend.FeatureLeakT],
	)
	// Load alone does not change how long memory stays in use.
	if math.Abs(f[trend.FeatureResidenceZ]) >= 2 {
		line += fmt.Sprintf("; memory stays in use %.1f times as long as at the start",
			math.Exp(f[trend.FeatureResidence]))
	}
	return line
}

func objects(f *trend.Features) string {
	drift := f[trend.FeatureObjectSize]
	if math.Abs(drift) < 0.1 {
		return "their mean size stays the same, so their number changes"
	}
	return fmt.Sprintf("their mean size at the end is %.2f times that at the start", math.Exp(drift))
}

// measurements are the features by name, for JSON.
func measurements(f *trend.Features) map[string]float64 {
	out := map[string]float64{}
	for k, v := range f {
		out[trend.Feature(k).String()] = v
	}
	return out
}
