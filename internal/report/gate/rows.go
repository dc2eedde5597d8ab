package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// regressions writes the rows that regressed, with their details.
func (g *Report) regressions(p *text.Printer) {
	rows := g.with(gate.Regressed)
	if len(rows) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", g.Style.Head("REGRESSED"))
	shown := rows[:min(len(rows), max(g.top(), mostRegressed))]
	for i, r := range shown {
		p.Linef("%3d  %s", i+1, named(r, 90))
		for _, line := range g.details(r) {
			p.Linef("     %s", line)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		p.Linef("     … and %d more%s", n, text.ShowAll(len(rows)))
	}
}

// mostRegressed is the default number of regressions in text.
const mostRegressed = 50

// details are the lines below a regressed row: its values, the quality of the match, its callers,
// and advice.
func (g *Report) details(r *gate.Row) (out []string) {
	for _, v := range decisive(r) {
		out = append(out, fmt.Sprintf("%-9s %s", metricText(v.Metric), g.valueText(v)))
	}
	if line := movedPart(r); line != "" {
		out = append(out, line)
	}
	if g.drifted(r) {
		out = append(out, "drift: within the thresholds against the baselines, beyond them against the reference run")
	}
	if r.Tier == identity.ByBlame {
		out = append(out, "matched by function alone: its callers differ from those in the baselines")
	}
	v := viewOf(r)
	path := v.CallPath(logWidth - 5)
	if path != "" {
		out = append(out, path)
	}
	if line := nowHeld(r); line != "" {
		out = append(out, line)
	}
	out = append(out, g.losses(r, path)...)
	if advice := v.Advice(false); advice != "" {
		out = append(out, "→ "+advice)
	}
	return out
}

// movedPart is the part of a change that only moved between functions; empty if there is none.
func movedPart(r *gate.Row) string {
	if len(r.Values) == 0 || math.Abs(r.Values[0].Moved) < 1 {
		return ""
	}
	v := r.Values[0]
	moved, rest := units.SignedBytes(v.Moved)+unitOf(v), units.SignedBytes(v.Rest())+unitOf(v)
	if names := neighbours(r); names != "" {
		return fmt.Sprintf("of this, %s moved, by which %s changed in the opposite direction; the rest, %s, is judged", moved, names, rest)
	}
	return fmt.Sprintf("of this, %s moved; the rest, %s, is judged", moved, rest)
}

// drifted reports whether the row regressed against the reference run, but not against the
// baselines.
func (g *Report) drifted(r *gate.Row) bool {
	return len(g.Baselines) > 0 && slices.ContainsFunc(r.Values,
		func(v gate.Value) bool { return v.Base == gate.BaseReference && v.Exceeds }) &&
		!slices.ContainsFunc(r.Values, func(v gate.Value) bool { return v.Base == gate.BaseSet && v.Exceeds })
}

// decisive are the values of a row that text shows: the one that decided its status, the same
// metric against the other base, and the level. JSON has all.
func decisive(r *gate.Row) (out []gate.Value) {
	for i, v := range r.Values {
		decided, level := r.Values[0], v.Metric == gate.MetricLevel && v.Base == r.Values[0].Base
		if i == 0 || v.Metric == decided.Metric || level {
			out = append(out, v)
		}
	}
	return out
}

// levels are the bytes in use of a row, against the baselines and then against the reference run.
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

// brief writes rows that did not regress.
func (g *Report) brief(p *text.Printer, title string, rows []*gate.Row) {
	if len(rows) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", g.Style.Head(title))
	shown := rows[:min(len(rows), g.top())]
	for _, r := range shown {
		for _, line := range g.briefLines(r) {
			p.Linef("%s", line)
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		p.Linef("     … and %d more%s", n, text.ShowAll(len(rows)))
	}
}

func (g *Report) top() int {
	if g.Top <= 0 {
		return 10
	}
	return g.Top
}

// wrapped breaks a list into lines that fit a log, after separators. The second and later lines are
// indented.
func wrapped(list, separator string, indent int) string {
	var b strings.Builder
	width := indent
	for i, part := range strings.SplitAfter(list, separator) {
		n := text.Width(part)
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

// briefLines is a row in one line, and its explanation in a second.
func (g *Report) briefLines(r *gate.Row) []string {
	line := "     " + named(r, 60)
	if len(r.Values) > 0 {
		v := r.Values[0]
		line = fmt.Sprintf("     %12s  %-24s  %s", units.SignedBytes(v.Delta())+unitOf(v), parts(v)+referenceMark(v),
			named(r, 50))
		if v.Metric == gate.MetricAllocated {
			line += "  (allocated over the run)"
		}
	}
	if why := g.aside(r); why != "" {
		return []string{line, "       " + why}
	}
	return []string{line}
}

// referenceMark marks a comparison with the reference run.
func referenceMark(v gate.Value) string {
	if v.Base == gate.BaseReference {
		return " (reference)"
	}
	return ""
}

// aside explains a row further; it may be empty.
func (g *Report) aside(r *gate.Row) string {
	switch {
	case r.Suppression != nil:
		return suppressed(r)
	case r.Status == gate.Regressed:
		return movedWith(r)
	}
	return text.Join("; ", movedWith(r), g.doubt(r))
}

// movedWith names the functions that memory moved from or to; empty if there are none.
func movedWith(r *gate.Row) string {
	names := neighbours(r)
	if names == "" {
		return ""
	}
	line := "moved from " + names
	if len(r.Values) > 0 && r.Values[0].Delta() < 0 {
		line = "moved to " + names
	}
	if r.Status != gate.Moved {
		return "partly " + line
	}
	return line
}

// doubt is why a change for the worse does not fail; empty if there is none.
func (g *Report) doubt(r *gate.Row) string {
	i := judgedDoubt(r)
	if i < 0 {
		return g.small(r)
	}
	v := r.Values[i]
	chance := amount(v, v.Chance)
	switch v.Doubt {
	case gate.DoubtNoise:
		return fmt.Sprintf("does not fail: runs of one build may differ by %s", chance)
	case gate.DoubtUnsteady:
		return "does not fail: it still rose, or rose and fell, in the earlier runs, which explains a change of up to " + chance
	case gate.DoubtMoved:
		return fmt.Sprintf("does not fail: what moved varies by up to %s", chance)
	}
	if v.Metric == gate.MetricSlope {
		return fmt.Sprintf("does not fail: the error of the growth explains a change of up to %s", chance)
	}
	return fmt.Sprintf("does not fail: sampling alone explains a change of up to %s", chance)
}

// small is the threshold that the growth of a row does not reach; empty if there is none.
func (g *Report) small(r *gate.Row) string {
	i := slices.IndexFunc(r.Values, func(v gate.Value) bool { return v.Judged && v.Metric == gate.MetricLevel })
	if i < 0 || r.Status == gate.Moved || r.Values[i].Rest() <= 0 {
		return ""
	}
	rest, before, heap := r.Values[i].Rest(), r.Values[i].Before, 0.0
	if total := levels(&g.Total); len(total) > 0 {
		heap = total[0].Before
	}
	switch t := r.Thresholds; {
	case rest < t.Bytes:
		return "does not fail: it is less than " + units.Bytes(t.Bytes) + " (" + option.Regression + ")"
	case rest < t.Share*heap:
		return fmt.Sprintf("does not fail: it is less than %g %% of the heap", 100*t.Share)
	case 100*rest < t.Percent*before:
		return fmt.Sprintf("does not fail: it is less than %g %% of what was there before", t.Percent)
	}
	return ""
}

// judgedDoubt returns the index of the first value that could fail the gate and does not; -1 if there is none.
func judgedDoubt(r *gate.Row) int {
	return slices.IndexFunc(r.Values, func(v gate.Value) bool { return v.Doubt != "" && v.Judged })
}

// neighbours are the first of the functions that memory moved from or to.
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

// suppressed is the pattern, the reason and the end of a suppression.
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
