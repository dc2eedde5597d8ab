package growth

import (
	"cmp"
	"fmt"
	"slices"
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
	sites := g.lostSites()
	out := &evidenceJSON{
		Reports: []reportJSON{}, LostOnce: lostJSON(sites, true), LostLittle: lostJSON(sites, false),
		Others: siteview.LossRecords(g.Losses.Others),
	}
	for _, r := range g.Losses.Reports {
		out.Reports = append(out.Reports, reportJSON{r.Path, r.Tool, len(r.Records), r.Lost()})
	}
	return out
}

// suspectLosses are what other tools found at the sites that leak or may leak, each once.
func (g *Report) suspectLosses() (out []*evidence.Record) {
	for i := range g.Result.Sites {
		if s := &g.Result.Sites[i]; s.Label.IsSuspicious() {
			out = append(out, g.Losses.Of(s)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *evidence.Record) int { return cmp.Compare(b.Bytes, a.Bytes) })
	seen := map[*evidence.Record]bool{}
	return slices.DeleteFunc(out, func(r *evidence.Record) bool {
		again := seen[r]
		seen[r] = true
		return again
	})
}

// LostSite is a stable site with lost memory.
type LostSite struct {
	Heading string
	Blame   siteview.Blame
	Gained  int64 // 0 if it does not grow
	Records []*evidence.Record
}

// lostSites are the stable sites with lost memory, those that do not grow first.
func (g *Report) lostSites() (out []LostSite) {
	for _, list := range [...][]*growth.Site{g.Losses.LostOnce, g.Losses.LostLittle} {
		for _, s := range list {
			v := g.Describe(s)
			out = append(out, LostSite{v.Heading(), v.Blame, s.Gained, g.Losses.Of(s)})
		}
	}
	return out
}

// once reports whether the site does not grow, so that its memory was lost before the series or
// once.
func (s *LostSite) once() bool { return s.Gained <= 0 }

// lostJSON are the sites that do not grow, or the others.
func lostJSON(sites []LostSite, once bool) []stableJSON {
	out := []stableJSON{}
	for i := range sites {
		if s := &sites[i]; s.once() == once {
			out = append(out, stableJSON{s.Blame, s.Gained, siteview.LossRecords(s.Records)})
		}
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
	notes = append(notes, lostNotes(g.lostSites(), "")...)
	notes = append(notes, g.lostElsewhere()...)
	if others := g.Losses.Others; len(others) > 0 {
		notes = append(notes, fmt.Sprintf("%s in functions without a site in the series, the largest in %s: %s",
			units.Count(len(others), "loss record"), siteview.LossName(others[0]), units.Bytes(evidence.LossOf(others).Bytes())))
	}
	return notes
}

// lostElsewhere are the notes on what other tools found at sites of the processes that are not
// shown. Processes of one program have the same records: a stable site is in one note.
func (g *Report) lostElsewhere() (notes []string) {
	noted := map[*evidence.Record]bool{}
	add := func(records []*evidence.Record) (more bool) {
		for _, r := range records {
			more = more || !noted[r]
			noted[r] = true
		}
		return more
	}
	add(g.Losses.Records())
	for i := range g.Processes {
		p := &g.Processes[i]
		if p.Shown {
			continue
		}
		var sites []LostSite
		for _, s := range p.Lost {
			if add(s.Records) {
				sites = append(sites, s)
			}
		}
		add(p.Records)
		for _, line := range siteview.Losses(p.Losses) {
			notes = append(notes, fmt.Sprintf("process %s, at the sites that leak or may leak: %s", text.Clean(p.Name()), line))
		}
		notes = append(notes, lostNotes(sites, " of process "+text.Clean(p.Name()))...)
	}
	return notes
}

// lostNotes are notes on stable sites that lost memory. of is added to the name of the site.
func lostNotes(sites []LostSite, of string) (notes []string) {
	count := map[string]int{}
	for i := range sites {
		s := &sites[i]
		title, does := "lost once", "does not grow"
		if !s.once() {
			title = "lost"
			does = fmt.Sprintf("grew by %s, too little or not steadily enough for a verdict", units.Bytes(s.Gained))
		}
		if count[title]++; count[title] > maxStable {
			continue
		}
		for _, line := range siteview.Losses(s.Records) {
			notes = append(notes, fmt.Sprintf("%s: %s%s, which %s; %s", title, s.Heading, of, does, line))
		}
	}
	for _, title := range [...]string{"lost once", "lost"} {
		if n := count[title] - maxStable; n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s%s", title, units.Count(n, "more site"), of))
		}
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
