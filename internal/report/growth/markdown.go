package growth

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// maxPathFrames is the number of frames of a call path in Markdown.
const maxPathFrames = 12

// Markdown writes a summary that fits an issue or a step of a CI job: the answer, the table of sites, the call paths of those that
// grow, and what to know about the series. It is cut at View.Top rows and says so.
func (g *Report) Markdown(w io.Writer) error {
	p := &text.Printer{W: w}
	p.Linef("## heaplapse: %s", g.Result.Verdict)
	p.Linef("")
	p.Linef("%s", g.markdownFinding())
	if next := g.Next(); next != "" {
		p.Linef("")
		p.Linef("Next: %s.", text.EscapeMarkdown(next))
	}
	p.Linef("")
	p.Linef("%s", text.EscapeMarkdown(g.summary()))
	if line := g.limitLine(); line != "" {
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
	if len(rows) == 0 {
		return
	}
	unit, factor := g.rateUnit()
	p.Linef("")
	p.Linef("| # | verdict | growth | per %s | now | trend | site |", unit)
	p.Linef("|--:|---|--:|--:|--:|---|---|")
	for i := range rows {
		s := &rows[i]
		t := g.Describe(s)
		from, to := g.Result.First, g.Result.Last+1
		p.Linef("| %d | %s | %s | %s | %s | %s | %s |", i+1, labelWithConfidence(s.Label, s.Confidence), units.SignedBytes(s.Gained), units.SignedBytes(s.Slope*factor),
			units.Bytes(t.Now), strings.TrimSpace(text.Sparkline(s.Bytes[from:to], s.Visible[from:to], sparkWidth)), text.JoinedWith(" ", text.Code(t.Title, 120), text.EscapeMarkdown(t.Where)))
	}
	if n := len(g.Result.Sites) - len(rows); n > 0 {
		p.Linef("")
		p.Linef("… and %s: `--top %d` shows them.", units.Count(n, "more site"), len(g.Result.Sites))
	}
}

func labelWithConfidence(l trend.Label, confidence float64) string {
	if l.IsLeak() {
		return fmt.Sprintf("**%s** %.0f %%", l, 100*confidence)
	}
	if l == trend.Suspect {
		return fmt.Sprintf("%s %.0f %%", l, 100*confidence)
	}
	return l.String()
}

// markdownPaths lists the call path that grew most of each leak and suspect, folded away.
func (g *Report) markdownPaths(p *text.Printer) {
	for i := range text.FirstRows(g.Result.Sites, g.Top) {
		s := &g.Result.Sites[i]
		if !s.Label.IsLeak() && s.Label != trend.Suspect {
			continue
		}
		p.Linef("")
		p.Linef("<details><summary>%d: call path of %s</summary>", i+1, text.HtmlCode(g.Describe(s).Title))
		p.Linef("")
		stack := siteview.Frames(g.Symbols, g.viewer().Stack(s.Members[0]))
		for _, f := range stack[:min(len(stack), maxPathFrames)] {
			p.Linef("    %s", frameLine(f))
		}
		if n := len(stack) - maxPathFrames; n > 0 {
			p.Linef("    … and %s", units.Count(n, "more caller"))
		}
		p.Linef("")
		p.Linef("</details>")
	}
}

// frameLine is a frame in one line of a code block.
func frameLine(f siteview.Frame) string {
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
	return strings.TrimSpace(text.Clip(name, 120) + "  " + where)
}

func (g *Report) markdownRemarks(p *text.Printer) {
	remarks := append(g.notes(), g.Warnings()...)
	if len(remarks) == 0 {
		return
	}
	p.Linef("")
	for _, r := range remarks {
		p.Linef("- %s", text.EscapeMarkdown(r))
	}
}

// markdownFinding is the answer as a sentence.
func (g *Report) markdownFinding() string {
	if g.Result.Verdict != growth.VerdictLeak && !g.suspected() {
		return text.Sentence(g.Finding())
	}
	title, where := g.viewer().Title(g.Result.Sites[0].Members[0])
	finding := text.JoinedWith(" ", text.Code(title, 200), text.EscapeMarkdown(where), g.grow())
	if g.suspected() {
		finding += ", but not clearly to the end"
	}
	return finding + "."
}
