package gate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/evidence"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Report is whether a run regressed, and where.
type Report struct {
	*gate.Result
	// Top is the number of rows of each status in text; 0 shows 10, and 50 regressions.
	Top int
	// MarkdownLimit is the largest size of Markdown, in bytes; 0 means DefaultMarkdownLimit.
	MarkdownLimit int
	// SourceRoot is the directory, as named in DWARF, below which paths of source files in SARIF
	// are relative to SRCROOT; it may be empty.
	SourceRoot string
	// Version of the tool, for SARIF and pprof.
	Version string
	// Refusal is why the runs are not comparable, if the verdict is [gate.Refused].
	Refusal string
	// Absent tells where earlier runs were looked for, if there are none.
	Absent string
	// Next is a command that shows more of a run that failed; it may be empty.
	Next string
	// Config is the file with thresholds and suppressions; it may be empty.
	Config string
	// Losses are what other tools found; it may be nil.
	Losses *evidence.Index
	// Style is how Text looks on a terminal. Its width does not count: a log has one, too.
	Style text.Style
}

// manyUnmatched is the share of bytes without a match above which call paths are not comparable.
const manyUnmatched = 0.15

// logWidth is the width of a CI log, in characters.
const logWidth = 100

// statusGroups are the rows that do not fail the gate, in the order of their tables.
var statusGroups = []struct {
	status gate.Status
	title  string
}{
	{gate.Suppressed, "SUPPRESSED: known regressions"},
	{gate.Changed, "CHANGED, no regression"},
	{gate.New, "NEW, no regression"},
	{gate.Moved, "MOVED or renamed, no regression"},
	{gate.Improved, "IMPROVED"},
	{gate.Gone, "GONE"},
}

// Text writes the report for a terminal or a log: the verdict and the worst function, the compared
// runs, then the rows.
func (g *Report) Text(w io.Writer) error {
	p := &text.Printer{W: w, Links: g.links()}
	p.Linef("%s", g.Style.Paint(g.headline(), strings.ToUpper(string(g.Verdict)), g.rendition()))
	g.runs(p)
	if list := g.causes(); len(list) > 0 {
		p.Linef("")
		p.Linef("CAUSES of the growth since the latest earlier run")
		for _, c := range list {
			p.Linef("  –  %s: %s", c.name(), c.explains())
		}
	}
	g.regressions(p)
	for _, group := range statusGroups {
		g.brief(p, group.title, g.with(group.status))
	}
	p.Linef("")
	if g.compared() {
		p.Linef("%s", g.rest())
	}
	if slices.ContainsFunc(g.with(gate.Regressed), func(r *gate.Row) bool { return holder(r) == "" }) {
		p.Linef("note: a row is the function that requests the memory; what keeps it may be a caller, or another row")
	}
	for _, line := range g.remarks() {
		p.Linef("%s", line)
	}
	return p.Err
}

// rendition is that of the verdict.
func (g *Report) rendition() text.Rendition {
	if g.Verdict == gate.Pass {
		return text.Green
	}
	return text.Red
}

// compared reports whether there is anything to compare with.
func (g *Report) compared() bool { return !g.FirstRun && g.Verdict != gate.Refused }

// links are the places of the functions of all rows.
func (g *Report) links() text.Links {
	links := text.NewLinks(g.Style)
	for i := range g.Rows {
		if site := g.Rows[i].Site; site != nil {
			for _, f := range site.Frames {
				links.Add(f.File, f.Line)
			}
		}
	}
	return links
}

// headline is the verdict, the worst function and the amount that it is judged by, and the cause.
func (g *Report) headline() string {
	if g.Verdict == gate.Refused {
		return strings.Replace(g.summary(), "not comparable", "NOT COMPARABLE", 1)
	}
	verdict := strings.ToUpper(string(g.Verdict)) + ": "
	worst := g.worst()
	if worst == nil {
		return verdict + g.summary() + g.heapNow()
	}
	return g.regression(verdict, worst) + g.causeNow()
}

// regression is the verdict on a run that failed, the worst function and its amount.
func (g *Report) regression(verdict string, worst *gate.Row) string {
	head := verdict + g.summary()
	if worst == &g.Total {
		return fmt.Sprintf("%s: %s", head, changeText(worst.Values[0]))
	}
	lead := ": "
	if len(g.with(gate.Regressed)) > 1 {
		lead = "; worst: "
	}
	return head + lead + fitted(worst, logWidth-text.Width(head+lead))
}

// fitted is the function, the place and the judged change of a row in width characters. If they do
// not fit, it leaves out the noise and shortens the name.
func fitted(r *gate.Row, width int) string {
	v, value := viewOf(r), judged(r.Values[0])
	name, place, change := v.Clipped(90), v.Where, changeText(value)
	if text.Width(joined(name, place, change)) > width {
		change = fmt.Sprintf("%s (%s)", units.SignedBytes(value.Delta())+unitOf(value), percentText(value))
	}
	room := width - text.Width(joined("", place, change)) - 2
	return joined(text.ClipName(name, max(30, room)), place, change)
}

// causeNow is the largest cause of a run that failed; empty if there is none.
func (g *Report) causeNow() string {
	if list := g.causes(); len(list) > 0 {
		return fmt.Sprintf("; cause: %s, %s", list[0].name(), list[0].explains())
	}
	return ""
}

// heapNow is the heap of a run that passed, and its change.
func (g *Report) heapNow() string {
	if l := levels(&g.Total); len(l) > 0 {
		return fmt.Sprintf("; heap %s (%s)", units.Bytes(l[0].After), percentText(l[0]))
	}
	return ""
}

// summary is the number of functions that regressed.
func (g *Report) summary() string {
	all, regressed := g.Tested, len(g.with(gate.Regressed))
	switch {
	case g.Verdict == gate.Refused:
		return text.Clip(g.Refusal, 500)
	case g.FirstRun:
		return text.Join(": ", "first run: nothing to compare with", text.Clip(g.Absent, 200))
	case regressed > 0:
		return fmt.Sprintf("%d of %s regressed", regressed, units.Count(all, "function"))
	case g.Verdict == gate.Fail:
		return "the heap as a whole regressed, but no single function"
	case all == 0:
		return "nothing was allocated in any run"
	}
	line := fmt.Sprintf("none of %s regressed", units.Count(all, "function"))
	if n := len(g.with(gate.Suppressed)); n > 0 {
		line += fmt.Sprintf("; %s suppressed", units.Count(n, "known regression"))
	}
	return line
}

// worst is the function that regressed most, or the whole heap; nil if the run passed.
func (g *Report) worst() *gate.Row {
	if regressed := g.with(gate.Regressed); len(regressed) > 0 {
		return regressed[0]
	}
	if g.Verdict == gate.Fail && len(g.Total.Values) > 0 {
		return &g.Total
	}
	return nil
}

// with returns the rows with a status.
func (g *Report) with(s gate.Status) (out []*gate.Row) {
	for i := range g.Rows {
		if g.Rows[i].Status == s {
			out = append(out, &g.Rows[i])
		}
	}
	return out
}

// rest is the number of functions that the tables leave out.
func (g *Report) rest() string {
	if g.Unchanged == 0 {
		return "every function changed"
	}
	return fmt.Sprintf("%s did not change", units.Count(g.Unchanged, "function"))
}
