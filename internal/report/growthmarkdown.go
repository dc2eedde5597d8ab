package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/diff/growth"
	"github.com/heaplapse/heaplapse/diff/trend"
)

// maxPathFrames is the number of frames of a call path in Markdown.
const maxPathFrames = 12

// Markdown writes a summary that fits an issue or a step of a CI job: the answer, the table of sites, the call paths of those that
// grow, and what to know about the series. It is cut at View.Top rows and says so.
func (g *Growth) Markdown(w io.Writer) error {
	p := &printer{w: w}
	p.linef("## heaplapse: %s", g.Result.Verdict)
	p.linef("")
	p.linef("%s", g.markdownFinding())
	if next := g.Next(); next != "" {
		p.linef("")
		p.linef("Next: %s.", escapeMarkdown(next))
	}
	p.linef("")
	p.linef("%s", escapeMarkdown(g.summary()))
	if line := g.limitLine(); line != "" {
		p.linef("")
		p.linef("%s", sentence(line))
	}
	g.markdownTable(p)
	g.markdownPaths(p)
	g.markdownRemarks(p)
	return p.err
}

func (g *Growth) markdownTable(p *printer) {
	rows := firstRows(g.Result.Sites, g.Top)
	if len(rows) == 0 {
		return
	}
	unit, factor := g.rateUnit()
	p.linef("")
	p.linef("| # | verdict | growth | per %s | now | trend | site |", unit)
	p.linef("|--:|---|--:|--:|--:|---|---|")
	for i := range rows {
		s := &rows[i]
		t := g.Describe(s)
		from, to := g.Result.First, g.Result.Last+1
		p.linef("| %d | %s | %s | %s | %s | %s | %s |", i+1, labelWithConfidence(s.Label, s.Confidence), signed(float64(s.Gained)), signed(s.Slope*factor),
			Bytes(t.Now), strings.TrimSpace(sparkline(s.Bytes[from:to], s.Visible[from:to], sparkWidth)), joinedWith(" ", code(t.Title, 120), escapeMarkdown(t.Where)))
	}
	if n := len(g.Result.Sites) - len(rows); n > 0 {
		p.linef("")
		p.linef("… and %s: `--top %d` shows them.", plural(n, "more site"), len(g.Result.Sites))
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
func (g *Growth) markdownPaths(p *printer) {
	for i := range firstRows(g.Result.Sites, g.Top) {
		s := &g.Result.Sites[i]
		if !s.Label.IsLeak() && s.Label != trend.Suspect {
			continue
		}
		p.linef("")
		p.linef("<details><summary>%d: call path of %s</summary>", i+1, htmlCode(g.Describe(s).Title))
		p.linef("")
		stack := frames(g.Symbols, g.viewer().stack(s.Members[0]))
		for _, f := range stack[:min(len(stack), maxPathFrames)] {
			p.linef("    %s", frameLine(f))
		}
		if n := len(stack) - maxPathFrames; n > 0 {
			p.linef("    … and %s", plural(n, "more caller"))
		}
		p.linef("")
		p.linef("</details>")
	}
}

// frameLine is a frame in one line of a code block.
func frameLine(f Frame) string {
	name, where := f.Function, position(f.File, f.Line)
	module := clean(f.Module[strings.LastIndex(f.Module, "/")+1:])
	if name == "" {
		name = f.Address
		if module != "" {
			name = module + "+" + f.Offset
		}
	} else if where == "" {
		where = module
	}
	return strings.TrimSpace(clip(name, 120) + "  " + where)
}

func (g *Growth) markdownRemarks(p *printer) {
	remarks := append(g.notes(), g.Warnings()...)
	if len(remarks) == 0 {
		return
	}
	p.linef("")
	for _, r := range remarks {
		p.linef("- %s", escapeMarkdown(r))
	}
}

// markdownFinding is the answer as a sentence.
func (g *Growth) markdownFinding() string {
	if g.Result.Verdict != growth.VerdictLeak && !g.suspected() {
		return sentence(g.Finding())
	}
	title, where := g.viewer().title(g.Result.Sites[0].Members[0])
	finding := joinedWith(" ", code(title, 200), escapeMarkdown(where), g.grow())
	if g.suspected() {
		finding += ", but not clearly to the end"
	}
	return finding + "."
}

// sentence is a text as one of Markdown.
func sentence(s string) string { return escapeMarkdown(strings.TrimSuffix(s, ".")) + "." }
