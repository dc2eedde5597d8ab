package gate

import (
	"fmt"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// runs writes what was compared.
func (g *Report) runs(p *text.Printer) {
	for _, line := range g.runLines() {
		p.Linef("%-9s %s", line[0], wrapped(line[1], ", ", 10))
	}
}

// runLines are the compared runs, the heap and the matching, each with a label.
func (g *Report) runLines() (out [][2]string) {
	add := func(label, line string) { out = append(out, [2]string{label, line}) }
	add("current", runText(g.Current))
	if len(g.Baselines) > 0 {
		add("baselines", g.baselinesText())
	}
	if g.Reference != nil {
		add("reference", runText(g.Reference))
	}
	for _, v := range levels(&g.Total) {
		add("heap", g.valueText(v))
	}
	if why := g.doubt(&g.Total); g.Verdict == gate.Pass && g.Total.Status == gate.Changed && why != "" {
		add("", why)
	}
	if g.compared() {
		add("level", "the median of the bytes in use in the second half of a run; heap and rows are compared by it")
		add("matched", g.matched())
	}
	return out
}

// runText is a run in one line: its name, time, program, snapshots and heap.
func runText(r *baseline.Run) string {
	m := &r.Meta
	parts := []string{text.Clip(m.Name, 40)}
	if !m.Recorded.IsZero() {
		parts = append(parts, m.Recorded.UTC().Format("2006-01-02 15:04"))
	}
	if m.BuildID != "" {
		parts = append(parts, text.Join(" ", interpreter(m), "build", shortID(m.BuildID)))
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

// interpreter is the program of a run if it is an interpreter, whose build is not that of the user's program; else "".
func interpreter(m *baseline.Meta) string {
	if m.Interpreted() {
		return text.Clean(m.Program)
	}
	return ""
}

// shortID is the start of a build ID, which is enough to distinguish builds.
func shortID(id string) string { return text.Clean(id[:min(len(id), 8)]) }

// baselinesText summarizes the baseline set.
func (g *Report) baselinesText() string {
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
		parts = append(parts, text.Join(" of ", units.Count(len(builds), "build"), interpreter(&last.Meta)))
	}
	return strings.Join(append(parts, fmt.Sprintf("the latest is %s", text.Clip(last.Meta.Name, 40))), "  ")
}

// matched is how the sites were matched with those of the baselines.
func (g *Report) matched() string {
	all := g.Tiers.Bytes()
	var parts []string
	add := func(share float64, how string) {
		if share > 0 {
			parts = append(parts, units.Percent(share)+" "+how)
		}
	}
	for i, t := range g.Tiers {
		if t.Bytes <= 0 || all <= 0 {
			continue
		}
		share := t.Bytes / all
		if identity.Tier(i) == identity.Unmatched {
			add(g.MovedShare, "as functions that moved or were renamed")
			share -= g.MovedShare
		}
		add(share, siteview.TierTexts[identity.Tier(i)])
	}
	if len(parts) == 0 {
		return "nothing, because no bytes are in use"
	}
	return strings.Join(parts, ", ")
}
