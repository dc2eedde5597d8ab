package growth

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/verdict"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/holders"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// maxPathFrames is the number of frames that Markdown shows of a call path.
const maxPathFrames = 12

// Markdown writes the report for an issue or for the summary of a CI step: the finding, the table
// of sites, the call paths of those that grow, notes and warnings. The table has at most Top rows;
// a line below it counts the others.
func (g *Report) Markdown(w io.Writer) error {
	p := &text.Printer{W: w}
	p.Linef("## heaplapse: %s", g.Result.Verdict)
	p.Linef("")
	p.Linef("%s", g.markdownFinding())
	if next := g.Next(); next != "" {
		p.Linef("")
		p.Linef("Next: %s.", text.EscapeMarkdown(next))
	}
	g.markdownProcesses(p)
	p.Linef("")
	summary := g.Summary()
	if chance := g.chance(); chance != "" {
		summary = chance + " · " + summary
	}
	p.Linef("%s", text.EscapeMarkdown(summary))
	if line := g.Limit(); line != "" {
		p.Linef("")
		p.Linef("%s", text.Sentence(line))
	}
	g.markdownTable(p)
	g.markdownPaths(p)
	g.markdownRemarks(p)
	return p.Err
}

func (g *Report) markdownTable(p *text.Printer) {
	rows := text.FirstRows(g.Result.Sites, g.Top)
	if !g.HasTable() {
		return
	}
	unit, factor := g.RateUnit()
	p.Linef("")
	p.Linef("| # | verdict | growth | per %s | now | trend | site |", unit)
	p.Linef("|--:|---|--:|--:|--:|---|---|")
	row := func(rank string, s *growth.Site, v siteview.View, remark string) {
		p.Linef("| %s | %s | %s | %s | %s | %s | %s |", rank, labelWithConfidence(s.Label, s.Confidence),
			units.SignedBytes(s.Gained), units.SignedBytes(s.Slope*factor),
			units.Bytes(g.Now(s)), strings.TrimSpace(g.trend(s, sparkWidth)),
			text.Join(" ", text.Code(v.Title(), 120), text.EscapeMarkdown(v.Where), remark))
	}
	for i := range g.Result.Causes {
		c := &g.Result.Causes[i]
		row("–", &c.Site, g.DescribeCause(c), "("+CauseShare(c)+")")
	}
	for i := range rows {
		row(strconv.Itoa(i+1), &rows[i], g.Describe(&rows[i]), g.lossRemark(&rows[i]))
	}
	if n := len(g.Result.Sites) - len(rows); n > 0 {
		p.Linef("")
		p.Linef("… and %s: `%s %d` shows them.", units.Count(n, "more site"), option.Top, len(g.Result.Sites))
	}
}

func labelWithConfidence(l verdict.Site, confidence float64) string {
	if l.IsLeak() {
		return fmt.Sprintf("**%s** %s", l, text.Percent(confidence))
	}
	if l == verdict.Suspect {
		return fmt.Sprintf("%s %s", l, text.Percent(confidence))
	}
	return l.String()
}

// markdownPaths writes the largest call path of each leak and suspect, folded.
func (g *Report) markdownPaths(p *text.Printer) {
	for i := range text.FirstRows(g.Result.Sites, g.Top) {
		s := &g.Result.Sites[i]
		if !s.Label.IsSuspicious() {
			continue
		}
		v := g.Describe(s)
		p.Linef("")
		p.Linef("<details><summary>%d: call path of %s</summary>", i+1, text.HTMLCode(v.Title()))
		p.Linef("")
		stack := g.sites().Frames(s.Members)
		for _, f := range stack[:min(len(stack), maxPathFrames)] {
			p.Linef("    %s", frameLine(f))
		}
		if n := len(stack) - maxPathFrames; n > 0 {
			p.Linef("    … and %s", units.Count(n, "more caller"))
		}
		p.Linef("")
		if line := holders.Line(g.Holders.Of(s.Members).Held); line != "" {
			p.Linef("%s.", text.EscapeMarkdown(line))
			p.Linef("")
		}
		for _, line := range g.SiteLosses(s) {
			p.Linef("%s.", text.EscapeMarkdown(line))
			p.Linef("")
		}
		p.Linef("</details>")
	}
}

// frameLine is a frame in one line of a code block.
func frameLine(f siteview.FrameJSON) string {
	name, where := f.Function, text.Position(f.File, f.Line)
	module := text.Clean(f.Module[strings.LastIndex(f.Module, "/")+1:])
	if name == "" {
		name = f.Address
		if module != "" {
			name = module + "+" + f.Offset
		}
	} else if where == "" {
		where = module
	}
	return strings.TrimSpace(text.ClipName(name, 120) + "  " + where)
}

func (g *Report) markdownRemarks(p *text.Printer) {
	remarks := append(g.Notes(true), g.Warnings()...)
	if len(remarks) > 0 {
		p.Linef("")
	}
	for _, r := range remarks {
		p.Linef("- %s", text.EscapeMarkdown(r))
	}
	const width = 110
	if lines := g.resident(width); len(lines) > 0 {
		p.Linef("")
		p.Linef("Where the resident memory was when the recorder looked last:")
		p.Linef("")
		for _, line := range lines[2:] {
			p.Linef("    %s", line)
		}
	}
}

// markdownFinding is the finding as a sentence.
func (g *Report) markdownFinding() string {
	if c := g.cause(); c != nil {
		return g.markdownSite(g.DescribeCause(c), g.causePredicate(c))
	}
	if worst := g.worst(); worst != nil {
		return g.markdownSite(g.Describe(worst), g.predicate())
	}
	return text.Sentence(g.Finding())
}

// markdownSite is a sentence about a site or a cause.
func (g *Report) markdownSite(v siteview.View, predicate string) string {
	line := text.Join(" ", text.Code(v.Title(), 200), text.EscapeMarkdown(v.Where), text.EscapeMarkdown(predicate))
	return text.Join("; ", line, text.EscapeMarkdown(g.Among())) + "."
}
