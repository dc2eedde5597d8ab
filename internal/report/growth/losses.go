package growth

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// evidenceJSON is what reports of other tools add to the series. The records of a site are in
// siteJSON.
type evidenceJSON struct {
	Reports    []reportJSON          `json:"reports"`
	LostOnce   []stableJSON          `json:"lost_once"`
	LostLittle []stableJSON          `json:"lost_little"`
	Others     []siteview.LossRecord `json:"others"`
}

type reportJSON struct {
	Report  string `json:"report"`
	Tool    string `json:"tool"`
	Records int    `json:"records"`
	Lost    int64  `json:"lost_bytes"`
}

// stableJSON is a stable site with lost memory.
type stableJSON struct {
	Blame   siteview.Blame        `json:"blame"`
	Growth  int64                 `json:"growth_bytes"`
	Records []siteview.LossRecord `json:"loss_records"`
}

func (g *Report) evidenceJSON() *evidenceJSON {
	if g.Losses == nil {
		return nil
	}
	out := &evidenceJSON{
		Reports: []reportJSON{}, LostOnce: g.stableJSON(g.Losses.LostOnce), LostLittle: g.stableJSON(g.Losses.LostLittle),
		Others: siteview.LossRecords(g.Losses.Others),
	}
	for _, r := range g.Losses.Reports {
		out.Reports = append(out.Reports, reportJSON{r.Path, r.Tool, len(r.Records), r.Lost()})
	}
	return out
}

func (g *Report) stableJSON(sites []*growth.Site) []stableJSON {
	out := []stableJSON{}
	for _, s := range sites {
		out = append(out, stableJSON{g.Describe(s).Blame, s.Gained, siteview.LossRecords(g.Losses.Of(s))})
	}
	return out
}

// maxStable is the number of stable sites of one kind in the notes.
const maxStable = 5

// lossNotes are the notes on what other tools found: the sum of each report, the stable sites that
// lost memory, and the records of other functions.
func (g *Report) lossNotes() (notes []string) {
	if g.Losses == nil {
		return nil
	}
	notes = siteview.LossNotes(g.Losses.Reports)
	notes = append(notes, g.stableNotes("lost once", g.Losses.LostOnce, func(*growth.Site) string { return "does not grow" })...)
	notes = append(notes, g.stableNotes("lost", g.Losses.LostLittle, func(s *growth.Site) string {
		return fmt.Sprintf("grew by %s, too little or not steadily enough for a verdict", units.Bytes(s.Gained))
	})...)
	if others := g.Losses.Others; len(others) > 0 {
		notes = append(notes, fmt.Sprintf("%s in functions without a site in the series, the largest in %s: %s",
			units.Count(len(others), "loss record"), siteview.LossName(others[0]), units.Bytes(evidence.LossOf(others).Bytes())))
	}
	return notes
}

// stableNotes are notes on stable sites that lost memory. does is what a site does.
func (g *Report) stableNotes(title string, sites []*growth.Site, does func(*growth.Site) string) (notes []string) {
	for _, s := range sites[:min(maxStable, len(sites))] {
		for _, line := range siteview.Losses(g.Losses.Of(s)) {
			notes = append(notes, fmt.Sprintf("%s: %s, which %s; %s", title, g.Describe(s).Heading(), does(s), line))
		}
	}
	if n := len(sites) - maxStable; n > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s", title, units.Count(n, "more site")))
	}
	return notes
}

// losses are what other tools found at a site, in lines of a width in characters. path is the call
// path that is shown of the site.
func (g *Report) losses(s *growth.Site, path string, width int) []string {
	records := g.Losses.Of(s)
	lines := siteview.Losses(records)
	if at := siteview.LossPath(records, width, path); at != "" {
		lines = append(lines, at)
	}
	return lines
}

// SiteLosses are what other tools found at a site, in lines.
func (g *Report) SiteLosses(s *growth.Site) []string { return g.losses(s, "", pageWidth) }

// lossRemark is what other tools found at a site, in brackets; empty if they found nothing.
func (g *Report) lossRemark(s *growth.Site) string {
	if lines := siteview.Losses(g.Losses.Of(s)); len(lines) > 0 {
		return "(" + text.EscapeMarkdown(strings.Join(lines, "; ")) + ")"
	}
	return ""
}
