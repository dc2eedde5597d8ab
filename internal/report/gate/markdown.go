package gate

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

const (
	// DefaultMarkdownLimit is just below the limit of GitHub for the summary of a step, 1 MiB
	// (https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits).
	DefaultMarkdownLimit = 1<<20 - 1<<10
	// maxStack is the largest number of callers in a list.
	maxStack = 64
	// MinMarkdownLimit is enough for the verdict and the note about what was left out.
	MinMarkdownLimit = 4 << 10
)

// truncationNote ends a truncated document. noteRoom is reserved for it.
const (
	truncationNote = "\n> Truncated to stay below %s: %s left out. The JSON output has everything.\n"
	noteRoom       = len(truncationNote) + 50
)

// limited is a document of at most limit bytes, with room for the note.
type limited struct {
	b     strings.Builder
	limit int
	full  bool
}

// add appends a block if all of it fits and all blocks before it did. It reports whether it
// appended the block.
func (l *limited) add(block string) bool {
	l.full = l.full || l.b.Len()+len(block)+noteRoom > l.limit
	if !l.full {
		l.b.WriteString(block)
	}
	return !l.full
}

// Markdown writes the report for the summary of a CI step or for a comment. At MarkdownLimit it is
// truncated, with a note. Regressions come first, then the notes.
func (g *Report) Markdown(w io.Writer) error {
	limit := g.MarkdownLimit
	if limit == 0 {
		limit = DefaultMarkdownLimit
	}
	if limit < MinMarkdownLimit {
		return fmt.Errorf("a limit of %d bytes for Markdown is too small: want %d or more", limit, MinMarkdownLimit)
	}
	l := &limited{limit: limit}
	l.add(g.markdownHead())
	regressed := g.with(gate.Regressed)
	left := g.markdownTable(l, "Regressed", "", regressed)
	for _, line := range g.remarks() {
		l.add("> " + text.EscapeMarkdown(line) + "\n\n")
	}
	for _, r := range regressed {
		l.add(g.markdownDetails(r))
	}
	var others []*gate.Row
	for _, group := range statusGroups {
		others = append(others, g.with(group.status)...)
	}
	left += g.markdownTable(l, "What else changed", "| ", others)
	l.add(g.markdownFoot())
	if l.full {
		fmt.Fprintf(&l.b, truncationNote, units.Bytes(limit), units.Count(left, "row"))
	}
	_, err := io.WriteString(w, l.b.String())
	return err
}

// markdownHead is the verdict, the worst function and the heap.
func (g *Report) markdownHead() string {
	var b strings.Builder
	mark := "✅"
	switch g.Verdict {
	case gate.Fail:
		mark = "❌"
	case gate.Refused:
		mark = "⚠️"
	}
	fmt.Fprintf(&b, "## %s heaplapse: %s\n\n", mark, text.EscapeMarkdown(g.summary()))
	if r := g.worst(); r != nil && r != &g.Total {
		v, place := viewOf(r), ""
		if v.Where != "" {
			place = "(" + text.Code(v.Where, 80) + ")"
		}
		fmt.Fprintf(&b, "Look first at %s %s: %s **%s** %s. It requested the memory; "+
			"another line may keep it.\n\n", text.Code(v.Name, 90), place,
			metricText(r.Values[0].Metric), text.EscapeMarkdown(changeText(judged(r.Values[0]))),
			g.against(r.Values[0]))
	}
	for _, c := range g.causes() {
		fmt.Fprintf(&b, "Cause: %s %s.\n\n", text.Code(c.name(), 160), text.EscapeMarkdown(c.explains()))
	}
	for _, v := range levels(&g.Total) {
		fmt.Fprintf(&b, "Heap %s → %s: %s %s.\n\n", amount(v, v.Before), amount(v, v.After), changeText(v),
			g.against(v))
	}
	return b.String()
}

// markdownTable adds a table and returns the number of rows that did not fit. With a first cell,
// rows show their status.
func (g *Report) markdownTable(l *limited, title, first string, rows []*gate.Row) (left int) {
	if len(rows) == 0 {
		return 0
	}
	head := fmt.Sprintf("### %s\n\n%s| Function | What | Before | Now | Change | Against |\n%s|---|---|--:|--:|--:|---|\n",
		title, first, strings.ReplaceAll(first, " ", "---"))
	for i, r := range rows {
		status := first
		if first != "" && (i == 0 || rows[i-1].Status != r.Status) {
			status += string(r.Status) + " "
		}
		if !l.add(head + g.markdownRow(r, status, first)) {
			return len(rows) - i
		}
		head = ""
	}
	l.add("\n")
	return 0
}

// markdownRow is a row of a table: a line for each decisive value of a regression, else a line for
// the first value.
func (g *Report) markdownRow(r *gate.Row, status, first string) string {
	var b strings.Builder
	v := viewOf(r)
	name := text.Join("<br>", text.Code(v.Name, 90), text.Code(v.Where, 80), text.EscapeMarkdown(g.aside(r)))
	values := decisive(r)
	if r.Status != gate.Regressed {
		values = values[:min(1, len(values))]
	}
	if len(values) == 0 {
		fmt.Fprintf(&b, "%s| %s | | | | | |\n", status, name)
	}
	for _, v := range values {
		fmt.Fprintf(&b, "%s| %s | %s | %s | %s | **%s** (%s) | %s |\n", status, name, metricText(v.Metric),
			unbroken(amount(v, v.Before)), unbroken(amount(v, v.After)),
			unbroken(units.SignedBytes(v.Delta())+unitOf(v)), unbroken(parts(v)),
			strings.TrimPrefix(g.against(v), "against "))
		status, name = first, ""
	}
	return b.String()
}

// unbroken keeps a number and its unit on one line.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// markdownDetails is the callers of a row, folded, and the advice on it.
func (g *Report) markdownDetails(r *gate.Row) string {
	var b strings.Builder
	v := viewOf(r)
	fmt.Fprintf(&b, "<details><summary>Who calls %s</summary>\n\n", text.HTMLCode(v.Clipped(90)))
	callers, _ := v.Callers()
	for _, c := range callers[:min(maxStack, len(callers))] {
		fmt.Fprintf(&b, "1. %s\n", strings.TrimSpace(text.Code(c.Name, 90)+" "+text.EscapeMarkdown(c.Where)))
	}
	if len(callers) == 0 {
		b.WriteString("Its callers are not known.\n")
	}
	if r.Stacks > 1 {
		fmt.Fprintf(&b, "\nThe largest of %d call paths.\n", r.Stacks)
	}
	if line := nowHeld(r); line != "" {
		fmt.Fprintf(&b, "\n%s.\n", text.EscapeMarkdown(line))
	}
	for _, line := range g.losses(r, "") {
		fmt.Fprintf(&b, "\n%s.\n", text.EscapeMarkdown(line))
	}
	b.WriteString("\n</details>\n\n")
	if advice := v.Advice(false); advice != "" {
		fmt.Fprintf(&b, "%s: %s.\n\n", text.Code(v.Name, 90), text.EscapeMarkdown(advice))
	}
	return b.String()
}

// markdownFoot is the compared runs, folded.
func (g *Report) markdownFoot() string {
	var b strings.Builder
	if g.compared() {
		fmt.Fprintf(&b, "%s.\n\n", g.rest())
	}
	b.WriteString("<details><summary>What was compared</summary>\n\n")
	for _, line := range g.runLines() {
		fmt.Fprintf(&b, "- %s: %s\n", line[0], text.EscapeMarkdown(line[1]))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}
