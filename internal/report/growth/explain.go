package growth

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// chosen is a site to explain.
type chosen struct {
	site *growth.Site
	rank int // in the table, from 1; 0 for a stable site, which the table leaves out
}

// explained are the sites that g.Explain names: by rank, or by a part of what the table calls them, or by an
// expression that this matches. A stable site is looked for if no other is called so.
func (g *Report) explained() ([]chosen, error) {
	sites := g.Result.Sites
	if rank, err := strconv.Atoi(g.Explain); err == nil {
		if rank < 1 || rank > len(sites) {
			return nil, fmt.Errorf("--explain %d: the table has %s; a part of a function's name chooses any other", rank, units.Count(len(sites), "site"))
		}
		return []chosen{{&sites[rank-1], rank}}, nil
	}
	pattern, err := regexp.Compile(g.Explain)
	var out []chosen
	for i := range sites {
		if g.called(&sites[i], pattern) {
			out = append(out, chosen{&sites[i], i + 1})
		}
	}
	for i := range g.Result.Stable {
		if s := &g.Result.Stable[i]; (len(out) == 0 || out[0].rank == 0) && g.called(s, pattern) {
			out = append(out, chosen{s, 0})
		}
	}
	switch {
	case len(out) == 0 && err != nil:
		return nil, fmt.Errorf("--explain: no site is called so, and it is no expression: %w", err)
	case len(out) == 0:
		return nil, fmt.Errorf("--explain %s: no site that was judged is called so; heaplapse top lists all functions, --group-by stack judges each call path", text.Clean(g.Explain))
	}
	return out, nil
}

// called says whether g.Explain is a part of what a site is called, or the expression matches it.
func (g *Report) called(s *growth.Site, pattern *regexp.Regexp) bool {
	blame := g.viewer().Blame(s.Members[0])
	title, where := g.viewer().Title(s.Members[0])
	for _, name := range []string{blame.Function, title + " " + where, title + "  " + where, blame.Module} {
		if strings.Contains(name, g.Explain) || pattern != nil && pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// explain writes the numbers behind the verdicts in words.
func (g *Report) explain(p *text.Printer) error {
	sites, err := g.explained()
	if err != nil {
		return err
	}
	shown := text.FirstRows(sites, g.Top)
	for _, c := range shown {
		p.Linef("")
		g.explainSite(p, c)
	}
	if n := len(sites) - len(shown); n > 0 {
		p.Linef("")
		p.Linef("… and %s called so: --top %d explains them", units.Count(n, "more site"), len(sites))
	}
	return nil
}

func (g *Report) explainSite(p *text.Printer, c chosen) {
	s := c.site
	number := "–"
	if c.rank > 0 {
		number = strconv.Itoa(c.rank)
	}
	title, where := g.viewer().Title(s.Members[0])
	p.Linef("%s  %s: %s", number, strings.TrimSpace(title+"  "+where), g.sentence(s))
	if s.Label == trend.Insufficient || s.Features[trend.FeaturePoints] == 0 {
		return
	}
	for _, l := range g.evidence(s) {
		p.Linef("   %-9s %s", l.about, l.text)
	}
}

// sentence is the verdict in words.
func (g *Report) sentence(s *growth.Site) string {
	sure := fmt.Sprintf("%s; %.0f %% of simulated sites with such numbers leaked", meanings[s.Label], 100*s.Confidence)
	if s.Label == trend.Insufficient || s.Features[trend.FeaturePoints] == 0 {
		sure = meanings[s.Label]
	}
	return s.Label.String() + ", " + sure
}

var meanings = map[trend.Label]string{
	trend.Leak: "it grows to the end of the series", trend.LeakLate: "it grows to the end, since some time within the series",
	trend.Suspect: "it grows, and may have stopped or may be stopping", trend.Warming: "it fills up ever more slowly",
	trend.Plateaued: "it grew and has stopped", trend.LoadDriven: "it grows because more is allocated at a time",
	trend.GrewThenFlat: "it grew in one jump", trend.Shrinking: "it shrinks", trend.Stable: "it does not grow beyond its noise, or by little",
	trend.Insufficient: fmt.Sprintf("fewer than %d snapshots show it", trend.MinPoints),
}

// evidence is one line of an explanation.
type evidenceLine struct{ about, text string }

func (g *Report) evidence(s *growth.Site) []evidenceLine {
	f := &s.Features
	unit, factor := g.rateUnit()
	lines := []evidenceLine{
		{"trend", fmt.Sprintf("%s per %s (%s to %s, 95 %%); rises outweigh falls by %.1f standard deviations (2.3 are chance in one of a hundred)",
			units.SignedBytes(s.Slope*factor), unit, units.SignedBytes(s.Low*factor), units.SignedBytes(s.High*factor), f[trend.FeatureSignificance])},
		{"noise", fmt.Sprintf("it scatters by %s around that line: the growth is %.1f times as much", units.Bytes(int64(s.Sigma)), f[trend.FeatureClarity])},
		{"steps", steps(f)},
		{"end", ending(f)},
		{"shape", shape(f)},
	}
	if f[trend.FeatureAllocKnown] == 1 {
		lines = append(lines, evidenceLine{"load", load(f)})
	} else {
		lines = append(lines, evidenceLine{"load", "not known: the snapshots have no cumulative counts"})
	}
	lines = append(lines, evidenceLine{"objects", objects(f)})
	if f[trend.FeatureSampling] > 0 {
		lines = append(lines, evidenceLine{"sampling", fmt.Sprintf("the estimate's standard deviation is %.0f %% of the growth", 100*f[trend.FeatureSampling])})
	}
	if f[trend.FeatureHighWater] == 1 {
		lines = append(lines, evidenceLine{"trigger", "the snapshots were taken at record highs: what makes up most of the heap rises by construction"})
	}
	return lines
}

func steps(f *trend.Features) string {
	evenness := f[trend.FeatureEvenness]
	how := "in few jumps"
	switch {
	case evenness > 0.6:
		how = "in even steps"
	case evenness > 0.25:
		how = "in uneven steps"
	}
	return fmt.Sprintf("it rises %s (evenness %.2f of 1); %.0f %% of the way up and down is upward gain", how, evenness, 100*f[trend.FeatureDirectness])
}

func ending(f *trend.Features) string {
	text := fmt.Sprintf("the last two fifths grow at %.0f %% of the mean rate, the last quarter at %.0f %%", 100*f[trend.FeatureTail], 100*f[trend.FeatureEnd])
	if f[trend.FeatureGap] > 0.7 {
		text += fmt.Sprintf("; the last new high lies so far back that chance explains it with %.1f %%", 100*math.Exp(-f[trend.FeatureGap]))
	}
	return text
}

func shape(f *trend.Features) string {
	better := func(ln float64) string {
		if ln > -0.2 {
			return "fits no better than a line"
		}
		return fmt.Sprintf("leaves %.0f %% of a line's residuals", 100*math.Exp(ln))
	}
	text := fmt.Sprintf("a curve that levels off %s; a line that ends in a plateau %s", better(f[trend.FeatureSaturation]), better(f[trend.FeaturePlateau]))
	if f[trend.FeatureBeside] > clearlyBeside {
		text += fmt.Sprintf("; the curve fits clearly better with a line beside it that carries %.0f %% of the growth", 100*min(1, f[trend.FeatureLine]))
	}
	return text
}

// clearlyBeside is the FeatureBeside from which a line beside the curve is worth a word: chance does not reach it.
const clearlyBeside = 3

func load(f *trend.Features) string {
	return fmt.Sprintf("it allocates %.2f times as fast at the end as at the start; of what it allocated %.0f %% is still there; lifetimes with a leak put %.0f %% of the growth down to it (%.1f standard errors)",
		math.Exp(f[trend.FeatureLoad]), 100*f[trend.FeatureRetention], 100*min(1, f[trend.FeatureLeakShare]), f[trend.FeatureLeakT]) +
		residence(f)
}

// residence is how the time that bytes stay has changed: load alone does not change it.
func residence(f *trend.Features) string {
	if math.Abs(f[trend.FeatureResidenceZ]) < 2 {
		return ""
	}
	return fmt.Sprintf("; bytes stay %.1f times as long as at first", math.Exp(f[trend.FeatureResidence]))
}

func objects(f *trend.Features) string {
	drift := f[trend.FeatureObjectSize]
	if math.Abs(drift) < 0.1 {
		return "their mean size stays the same: there are more of them"
	}
	return fmt.Sprintf("their mean size is %.2f times what it was", math.Exp(drift))
}

// evidenceJSON are the features by name.
func evidenceJSON(f *trend.Features) map[string]float64 {
	out := map[string]float64{}
	for k, v := range f {
		out[trend.Feature(k).String()] = v
	}
	return out
}
