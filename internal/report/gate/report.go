package gate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// Gate is the answer to "did this run regress?", in the forms that people and CI systems read.
type Report struct {
	*gate.Result
	// Top limits the rows of each status in text; 0 shows 10, and 50 of those that regressed.
	Top int
	// MarkdownLimit is the most bytes that Markdown writes; 0 is DefaultMarkdownLimit.
	MarkdownLimit int
	// SourceRoot is the directory below which SARIF gives source files relative to SRCROOT, as they are called in DWARF; "" for none.
	SourceRoot string
	// Version of the tool, for SARIF and pprof.
	Version string
	// Config is the file that thresholds and suppressions were read from; "" for none.
	Config string
}

// manyUnmatched is the share of bytes without a match above which the runs do not compare stack by stack.
const manyUnmatched = 0.15

// logWidth is how many columns a CI log shows.
const logWidth = 100

// statusGroups are the rows that do not fail the gate, in the order of their tables.
var statusGroups = []struct {
	status gate.Status
	title  string
}{
	{gate.Suppressed, "SUPPRESSED: regressed, and known"},
	{gate.Changed, "CHANGED, within the thresholds"},
	{gate.New, "NEW, within the thresholds"},
	{gate.Moved, "MOVED between neighbours"},
	{gate.Improved, "IMPROVED"},
	{gate.Gone, "GONE"},
}

// Text writes the answer for people: the verdict and where to look, what was compared, then the rows.
func (g *Report) Text(w io.Writer) error {
	p := &text.Printer{W: w}
	p.Linef("%s", g.headline())
	g.runs(p)
	g.regressions(p)
	for _, group := range statusGroups {
		g.brief(p, group.title, g.with(group.status))
	}
	p.Linef("")
	p.Linef("%s", g.rest())
	for _, line := range g.remarks() {
		p.Linef("%s", line)
	}
	return p.Err
}

// headline is the verdict, the function to look at first, and by how much it grew.
func (g *Report) headline() string {
	verdict := strings.ToUpper(string(g.Verdict)) + ": "
	worst := g.worst()
	if worst == nil {
		return verdict + g.summary() + g.heapNow()
	}
	head, change := verdict+g.summary(), changeText(worst.Values[0])
	if worst == &g.Total {
		return fmt.Sprintf("%s: %s", head, change)
	}
	lead := ": "
	if len(g.with(gate.Regressed)) > 1 {
		lead = "; worst: "
	}
	return head + lead + fitted(worst, logWidth-utf8.RuneCountInString(head+lead))
}

// fitted is a row's function, place and change in so many columns, if need be without the noise and with a clipped name.
func fitted(r *gate.Row, width int) string {
	v := viewOf(r)
	name, place, change := v.Clipped(90), v.Where, changeText(r.Values[0])
	if utf8.RuneCountInString(joined(name, place, change)) > width {
		change = fmt.Sprintf("%s (%s)", units.SignedBytes(r.Values[0].Delta())+unitOf(r.Values[0]), percentText(r.Values[0]))
	}
	room := width - utf8.RuneCountInString(joined("", place, change)) - 2
	return joined(text.Clip(name, max(30, room)), place, change)
}

// heapNow is the heap of a run that passed.
func (g *Report) heapNow() string {
	if l := levels(&g.Total); len(l) > 0 {
		return fmt.Sprintf("; heap %s (%s)", units.Bytes(l[0].After), percentText(l[0]))
	}
	return ""
}

// summary says how many functions regressed.
func (g *Report) summary() string {
	all, regressed := g.Tested, len(g.with(gate.Regressed))
	switch {
	case regressed > 0:
		return fmt.Sprintf("%d of %s regressed", regressed, units.Count(all, "function"))
	case g.Verdict == gate.Fail:
		return "the heap as a whole regressed, no function by itself"
	case all == 0:
		return "nothing was allocated in any run"
	}
	line := fmt.Sprintf("none of %s regressed", units.Count(all, "function"))
	if n := len(g.with(gate.Suppressed)); n > 0 {
		line += fmt.Sprintf("; %s suppressed", units.Count(n, "known regression"))
	}
	return line
}

// worst is what failed the gate: a function, else the whole heap; nil if it passed.
func (g *Report) worst() *gate.Row {
	if regressed := g.with(gate.Regressed); len(regressed) > 0 {
		return regressed[0]
	}
	if g.Verdict == gate.Fail && len(g.Total.Values) > 0 {
		return &g.Total
	}
	return nil
}

// with are the rows of a status.
func (g *Report) with(s gate.Status) (out []*gate.Row) {
	for i := range g.Rows {
		if g.Rows[i].Status == s {
			out = append(out, &g.Rows[i])
		}
	}
	return out
}

// runs says what was compared with what.
func (g *Report) runs(p *text.Printer) {
	for _, line := range g.runLines() {
		p.Linef("%-8s %s", line[0], wrapped(line[1], ", ", 9))
	}
}

// runLines are the compared runs, the heap and the matching, each with its label.
func (g *Report) runLines() (out [][2]string) {
	add := func(label, text string) { out = append(out, [2]string{label, text}) }
	add("current", runText(g.Current))
	if len(g.Baselines) > 0 {
		add("pool", g.poolText())
	}
	if g.Reference != nil {
		add("pinned", runText(g.Reference))
	}
	for _, v := range levels(&g.Total) {
		add("heap", g.valueText(v))
	}
	add("matched", g.matched())
	return out
}

// runText is a run in one line: its name, its build, when and for how long it was recorded, its heap.
func runText(r *baseline.Run) string {
	m := &r.Meta
	parts := []string{text.Clip(m.Name, 40)}
	if !m.Recorded.IsZero() {
		parts = append(parts, m.Recorded.UTC().Format("2006-01-02 15:04"))
	}
	if m.BuildID != "" {
		parts = append(parts, "build "+shortID(m.BuildID))
	}
	snapshots := units.Count(m.Snapshots, "snapshot")
	if m.Span > 0 {
		snapshots += " in " + units.Duration(m.Span)
	}
	if m.Period > 0 {
		snapshots += ", sampled every " + units.Bytes(m.Period)
	}
	return strings.Join(append(parts, snapshots, units.Bytes(r.Total.Bytes)), "  ")
}

// shortID is enough of a build ID to tell builds apart.
func shortID(id string) string { return text.Clean(id[:min(len(id), 8)]) }

// poolText sums up the good runs before.
func (g *Report) poolText() string {
	if len(g.Baselines) == 1 {
		return runText(g.Baselines[0])
	}
	first, last, builds := g.Baselines[len(g.Baselines)-1], g.Baselines[0], map[string]bool{}
	for _, r := range g.Baselines {
		builds[r.Meta.BuildID] = true
	}
	parts := []string{units.Count(len(g.Baselines), "run")}
	if from, to := first.Meta.Recorded, last.Meta.Recorded; !from.IsZero() && !to.IsZero() {
		parts = append(parts, from.UTC().Format("2006-01-02 15:04")+" to "+to.UTC().Format("2006-01-02 15:04"))
	}
	if len(builds) > 1 {
		parts = append(parts, units.Count(len(builds), "build"))
	}
	return strings.Join(append(parts, fmt.Sprintf("the latest is %s", text.Clip(last.Meta.Name, 40))), "  ")
}

// matched says how the sites were recognised in the base.
func (g *Report) matched() string {
	all := g.Tiers.Bytes()
	var parts []string
	for i, t := range g.Tiers {
		if t.Bytes > 0 && all > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", share(t.Bytes/all), siteview.TierTexts[identity.Tier(i)]))
		}
	}
	if len(parts) == 0 {
		return "nothing: no bytes are in use"
	}
	if moved := g.movedShare(); moved > 0 {
		parts[len(parts)-1] += fmt.Sprintf(" of which %s moved", share(moved/g.UnmatchedShare()))
	}
	return strings.Join(parts, ", ")
}

// movedShare is the part of all bytes that match nothing but a neighbour's loss or gain, at most UnmatchedShare.
func (g *Report) movedShare() float64 {
	all, moved := g.Tiers.Bytes(), 0.0
	for _, r := range g.with(gate.Moved) {
		if r.Tier == identity.Unmatched && len(levels(r)) > 0 {
			moved += levels(r)[0].Before + levels(r)[0].After
		}
	}
	if all <= 0 {
		return 0
	}
	return min(moved/all, g.UnmatchedShare())
}

// share is a part of one in percent; what is not nothing is not called 0 %.
func share(f float64) string {
	if f > 0 && f < 0.005 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// regressions are the rows that failed the gate, each with all that is known of it.
func (g *Report) regressions(p *text.Printer) {
	rows := g.with(gate.Regressed)
	if len(rows) == 0 {
		return
	}
	p.Linef("")
	p.Linef("REGRESSED")
	shown := rows[:min(len(rows), max(g.top(), mostRegressed))]
	for i, r := range shown {
		p.Linef("%3d  %s", i+1, joined(viewOf(r).Clipped(90), viewOf(r).Where))
		for _, line := range g.evidence(r) {
			p.Linef("     %s", line)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		p.Linef("     … and %d more: --top %d shows them", n, len(rows))
	}
}

// mostRegressed is how many rows that regressed the text shows if no larger number is asked for.
const mostRegressed = 50

// evidence are the lines below a regressed row: its values, who calls it, how sure the match is, and what to do.
func (g *Report) evidence(r *gate.Row) (out []string) {
	for _, v := range told(r) {
		out = append(out, fmt.Sprintf("%-9s %s", metricText(v.Metric), g.valueText(v)))
	}
	if line := movedPart(r); line != "" {
		out = append(out, line)
	}
	if g.drifted(r) {
		out = append(out, "it drifted: within the thresholds against the latest runs, beyond them against the pinned one")
	}
	if r.Tier == identity.ByBlame {
		out = append(out, "matched by the function alone: its callers differ from those of the base")
	}
	if line := viewOf(r).CallPath(logWidth - 5); line != "" {
		out = append(out, line)
	}
	if text := viewOf(r).Advice(); text != "" {
		out = append(out, "→ "+text)
	}
	return out
}

// movedPart says how much of a change only moved, "" for nothing.
func movedPart(r *gate.Row) string {
	if len(r.Values) == 0 || math.Abs(r.Values[0].Moved) < 1 {
		return ""
	}
	v := r.Values[0]
	line := fmt.Sprintf("%s of it moved, and %s is judged", units.SignedBytes(v.Moved)+unitOf(v), units.SignedBytes(v.Rest())+unitOf(v))
	if names := neighbours(r); names != "" {
		line += ": " + names + " changed by as much the other way"
	}
	return line
}

// drifted says that only the pinned run shows the regression.
func (g *Report) drifted(r *gate.Row) bool {
	return len(g.Baselines) > 0 && slices.ContainsFunc(r.Values, func(v gate.Value) bool { return v.Base == gate.BaseReference && v.Exceeds }) &&
		!slices.ContainsFunc(r.Values, func(v gate.Value) bool { return v.Base == gate.BaseSet && v.Exceeds })
}

// told are the values of a row that are worth a line: what decided its status, the same against the other base, and the level. JSON
// has all.
func told(r *gate.Row) (out []gate.Value) {
	for i, v := range r.Values {
		decided, level := r.Values[0], v.Metric == gate.MetricLevel && v.Base == r.Values[0].Base
		if i == 0 || v.Metric == decided.Metric || level {
			out = append(out, v)
		}
	}
	return out
}

// levels are the values of a row that are bytes in use: against the pool, then against the pinned run.
func levels(r *gate.Row) (out []gate.Value) {
	for _, base := range []gate.Base{gate.BaseSet, gate.BaseReference} {
		for _, v := range r.Values {
			if v.Metric == gate.MetricLevel && v.Base == base {
				out = append(out, v)
			}
		}
	}
	return out
}

// brief is a table of rows that did not fail the gate.
func (g *Report) brief(p *text.Printer, title string, rows []*gate.Row) {
	if len(rows) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", title)
	shown := rows[:min(len(rows), g.top())]
	for _, r := range shown {
		for _, line := range briefLines(r) {
			p.Linef("%s", line)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		p.Linef("     … and %d more: --top %d shows them", n, len(rows))
	}
}

func (g *Report) top() int {
	if g.Top <= 0 {
		return 10
	}
	return g.Top
}

// wrapped breaks a list at its separators where a line of the log would be too wide; further lines are indented as the first one is.
func wrapped(list, separator string, indent int) string {
	var b strings.Builder
	width := indent
	for i, part := range strings.SplitAfter(list, separator) {
		n := utf8.RuneCountInString(part)
		if i > 0 && width+n > logWidth {
			line := strings.TrimRight(b.String(), " ")
			b.Reset()
			b.WriteString(line + "\n" + strings.Repeat(" ", indent))
			width = indent
		}
		b.WriteString(part)
		width += n
	}
	return b.String()
}

// briefLines is a row in one line, and what explains it in a second.
func briefLines(r *gate.Row) []string {
	line := "     " + joined(viewOf(r).Clipped(60), viewOf(r).Where)
	if len(r.Values) > 0 {
		v := r.Values[0]
		line = fmt.Sprintf("     %12s  %-24s  %s", units.SignedBytes(v.Delta())+unitOf(v), parts(v)+pinnedMark(v), joined(viewOf(r).Clipped(50), viewOf(r).Where))
	}
	if why := aside(r); why != "" {
		return []string{line, "       " + why}
	}
	return []string{line}
}

// pinnedMark tells what was compared with the pinned run from what was with the pool.
func pinnedMark(v gate.Value) string {
	if v.Base == gate.BaseReference {
		return " (pinned)"
	}
	return ""
}

// aside is what explains a row that did not fail the gate.
func aside(r *gate.Row) string {
	switch {
	case r.Suppression != nil:
		return suppressed(r)
	case len(r.MovedWith) > 0:
		return "with " + neighbours(r)
	}
	return ""
}

// neighbours are the first of the rows that something moved from or to.
func neighbours(r *gate.Row) string {
	var names []string
	for _, n := range r.MovedWith[:min(3, len(r.MovedWith))] {
		names = append(names, text.Clip(n, 60))
	}
	if n := len(r.MovedWith) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// suppressed says by what, why and until when.
func suppressed(r *gate.Row) string {
	s := r.Suppression
	line := "by " + text.Clip(s.Pattern, 60)
	if s.Reason != "" {
		line += ": " + text.Clip(s.Reason, 200)
	}
	if !s.Until.IsZero() {
		line += " (until " + s.Until.Format("2006-01-02") + ")"
	}
	return line
}

// rest is what the tables do not show.
func (g *Report) rest() string {
	return fmt.Sprintf("%s did not change", units.Count(g.Unchanged, "function"))
}

// remarks are what a reader must know to judge the answer.
func (g *Report) remarks() (out []string) {
	if s := g.UnmatchedShare() - g.movedShare(); s > manyUnmatched {
		out = append(out, fmt.Sprintf("note: %s of the bytes match nothing on the other side: the builds do not compare stack by stack, only the totals do. "+
			"If the earlier runs are snapshots, their program may have been rebuilt since: heaplapse baseline save keeps the names", share(s)))
	}
	for _, n := range g.notes() {
		out = append(out, "note: "+text.Clip(n, 500))
	}
	for _, e := range g.Expired {
		line := fmt.Sprintf("expired: the suppression %s held until %s and no longer applies", text.Clip(e.Pattern, 60), e.Until.Format("2006-01-02"))
		if e.Reason != "" {
			line += ": " + text.Clip(e.Reason, 200)
		}
		out = append(out, line)
	}
	return out
}
