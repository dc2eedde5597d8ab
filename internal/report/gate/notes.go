package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/gate"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/internal/option"
	"github.com/heaplapse/heaplapse/internal/report/siteview"
	"github.com/heaplapse/heaplapse/internal/report/text"
	"github.com/heaplapse/heaplapse/internal/units"
)

// notes returns the notes of the result as text. Text and Markdown must escape the names in them.
func (g *Report) notes() []string {
	out := []string{}
	if g.FirstRun {
		out = append(out, "a later run is compared with this one once it is saved; "+
			option.RequireBaseline+" makes a missing baseline an error")
	}
	if g.Total.Status == gate.Regressed && len(g.with(gate.Regressed)) > 0 {
		out = append(out, "the heap as a whole regressed without the functions that regressed, too")
	}
	for i := range g.Notes {
		out = append(out, noteText(&g.Notes[i]))
	}
	if slices.ContainsFunc(g.Rows, hiddenBySampling) || g.Total.Status == gate.Changed && hiddenBySampling(g.Total) {
		out = append(out, "sampling hides some changes: "+option.SamplePeriod+
			" 16KiB sees smaller ones; it must be the same in all runs")
	}
	if g.Losses != nil {
		out = append(out, siteview.LossNotes(g.Losses.Reports)...)
	}
	if g.Config != "" {
		out = append(out, "thresholds and suppressions are those of "+g.Config)
	}
	return out
}

// hiddenBySampling reports whether sampling is the reason why a row does not fail.
func hiddenBySampling(r gate.Row) bool {
	i := judgedDoubt(&r)
	return i >= 0 && r.Status != gate.Regressed && r.Suppression == nil && r.Values[i].Doubt == gate.DoubtSampling &&
		r.Values[i].Metric != gate.MetricSlope
}

// noteText returns a note as text.
func noteText(n *gate.Note) string {
	switch n.Kind {
	case gate.NoteDuplicateRuns:
		if n.Count == 1 {
			return "an earlier run is given twice; it counts once"
		}
		return fmt.Sprintf("earlier runs are given more than once; each counts once, and %d are left out", n.Count)
	case gate.NoteCurrentAmongBaselines:
		return "the current run is also in the baseline set; it is left out there"
	case gate.NoteForced:
		return "compared only because of " + option.Force + ": " + mismatchText(n.Mismatch)
	case gate.NoteOfRun:
		return "current run: " + n.Text
	case gate.NoteFailedRun:
		return FailedRun(cmp.Or(n.Run, "the current run"), n.Text)
	case gate.NoteFewBaselines:
		return fmt.Sprintf("fewer than %d baselines (%d): the noise between runs is not known; "+
			"a change must reach the thresholds, and be more than sampling explains",
			gate.LeastBaselines, n.Count)
	case gate.NoteOtherProgram:
		return fmt.Sprintf("%s ran %s, the current run %s", n.Run, n.Text, n.Other)
	case gate.NoteOtherInterpreter:
		return fmt.Sprintf("the interpreter of %s is %s, that of the current run %s, which may load and keep other memory: "+
			"after an upgrade, begin a new baseline set", n.Run, n.Text, n.Other)
	case gate.NoteOtherMethod:
		return text.OtherMethod(n.Run+" was recorded", n.Text, "the current run", n.Other)
	case gate.NoteOtherProcesses:
		return fmt.Sprintf("%s has %s, the current run %d: their memory is added up", n.Run,
			units.CountOf(n.Count, "process", "processes"), n.Of)
	case gate.NoteNoClock:
		return "slopes are not compared: the current run has no clock"
	case gate.NoteSlopesOmitted:
		return slopesText(n)
	case gate.NoteAllocatedOmitted:
		if n.Count == n.Of {
			return "allocated bytes are not compared: no earlier run has an amount of work (" + option.Work + ")"
		}
		return fmt.Sprintf("allocated bytes are not compared with %d of %d runs: they have no amount of work (%s)",
			n.Count, n.Of, option.Work)
	case gate.NoteNoWork:
		return "allocated bytes are not compared: the current run has no amount of work (" + option.Work + ")"
	case gate.NoteTruncatedRun:
		return fmt.Sprintf("%s: its snapshots are truncated: a call path that is not listed may have up to %s", n.Run,
			units.Bytes(n.Bytes))
	case gate.NoteUnusedRule:
		return "no function matches " + n.Text + ", so its thresholds apply to nothing"
	case gate.NoteExcluded:
		return fmt.Sprintf("the heap as a whole is judged without %s of %s with suppressions or thresholds of their own",
			units.Bytes(n.Bytes), units.Count(n.Count, "function"))
	}
	return string(n.Kind)
}

// OtherMethod tells that two runs were recorded in different ways.
func OtherMethod(earlier, current *baseline.Meta) string {
	return text.OtherMethod(earlier.Name+" was recorded", earlier.Method, current.Name, current.Method)
}

// FailedRun tells how the program of a run ended.
func FailedRun(run, failure string) string {
	return fmt.Sprintf("the program of %s failed (%s): it may not have done all of its work", run, failure)
}

// slopesText is the number of runs whose slopes are not compared, and the reason.
func slopesText(n *gate.Note) string {
	omitted := ""
	if n.Count < n.Of {
		omitted = fmt.Sprintf(" with %d of %d runs", n.Count, n.Of)
	}
	earlier := length(n.Shortest)
	if n.Longest > n.Shortest {
		earlier += " to " + length(n.Longest)
	}
	return fmt.Sprintf("slopes are not compared%s: the runs differ too much in length (current run %s, earlier runs %s)",
		omitted, length(n.Seconds), earlier)
}

// length is the length of a run.
func length(seconds float64) string {
	if seconds == 0 {
		return "unknown"
	}
	return units.Duration(seconds)
}

// NotComparable is the reason why runs are not comparable, and what to do.
func NotComparable(e *gate.NotComparableError) string {
	parts := make([]string, len(e.Mismatches))
	for i := range e.Mismatches {
		parts[i] = mismatchText(&e.Mismatches[i])
	}
	return "not comparable: " + strings.Join(parts, "; ") + mismatchRemedy(e.Mismatches)
}

// mismatchRemedy is what makes runs comparable.
func mismatchRemedy(list []gate.Mismatch) string {
	is := func(kind gate.MismatchKind) bool {
		return slices.ContainsFunc(list, func(m gate.Mismatch) bool { return m.Kind == kind })
	}
	switch {
	case is(gate.MismatchSnapshots):
		return "; record for longer"
	case is(gate.MismatchWorkload):
		return "; if the work is the same, give it one name for gate and for baseline save (" + option.Workload +
			" NAME), or " + option.Force + " compares it once"
	case is(gate.MismatchFormat):
		return "; record the run and its baselines with the same engine (" + option.Engine +
			"), or begin a new baseline set; " + option.Force + " compares anyway"
	}
	return "; " + option.Force + " compares anyway"
}

// mismatchText is the runs that a mismatch is about, and the reason.
func mismatchText(m *gate.Mismatch) string {
	reason := reasonText(m)
	switch n := len(m.Runs); n {
	case 0:
		return reason
	case 1:
		return m.Runs[0] + ": " + reason
	default:
		return fmt.Sprintf("%s and %d more: %s", m.Runs[0], n-1, reason)
	}
}

func reasonText(m *gate.Mismatch) string {
	switch m.Kind {
	case gate.MismatchSnapshots:
		return TooFewSnapshots(m.Snapshots, m.Least)
	case gate.MismatchFormat:
		return fmt.Sprintf("recorded %s, and the current run %s", recordedAs(m.Earlier, m.EarlierEngine),
			recordedAs(m.Current, m.CurrentEngine))
	case gate.MismatchPeriod:
		return fmt.Sprintf("%s, and the current run %s", samplingText(m.EarlierPeriod), samplingText(m.CurrentPeriod))
	case gate.MismatchWorkload:
		return fmt.Sprintf("its workload is %q, that of the current run is %q", m.Earlier, m.Current)
	case gate.MismatchUnrelated:
		return unrelatedText(m)
	}
	return string(m.Kind)
}

// recordedAs is the format of a run, and the engine that recorded it.
func recordedAs(format, engine string) string {
	if engine == "" {
		return "as " + format
	}
	return fmt.Sprintf("by %s (%s)", engine, format)
}

func unrelatedText(m *gate.Mismatch) string {
	none := units.Percent(m.Share) + " of the bytes have no match in the other run: "
	if m.Earlier == m.Current {
		return none + "it is another program, or the program was rebuilt and the earlier snapshots lost their names (" +
			option.BaselineSave + " keeps them)"
	}
	return none + fmt.Sprintf("the earlier run is of %s, the current one of %s; after an upgrade, begin a new baseline set",
		m.Earlier, m.Current)
}

// TooFewSnapshots is the reason why a run has no steady level.
func TooFewSnapshots(have, least int) string {
	verb := "are"
	if have == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s too few for a steady level: at least %d are needed", units.Count(have, "snapshot"), verb, least)
}

// unmatchedReason is why many bytes have no match: names were lost, or functions have other names.
func (g *Report) unmatchedReason() string {
	if g.mostlyUnnamed() {
		return "of the bytes have no match in the baselines: only the totals are comparable, not the call paths. " +
			"If the earlier runs are snapshots, their program may have been rebuilt since; " +
			option.BaselineSave + " keeps the names"
	}
	return "of the bytes are on call paths that only the current run or only the latest baseline has: " +
		"functions are new, gone, renamed, or called by others. " +
		"A new function that has what one nearby lost counts as moved, and does not fail"
}

// mostlyUnnamed reports whether most bytes of the rows without a match are of functions without a
// name.
func (g *Report) mostlyUnnamed() bool {
	var named, unnamed float64
	for i := range g.Rows {
		r := &g.Rows[i]
		if r.Tier != identity.Unmatched || len(r.Values) == 0 {
			continue
		}
		size := max(r.Values[0].Before, r.Values[0].After)
		if f := blamed(r.Site); f != nil && identity.IsUnnamed(f) {
			unnamed += size
		} else {
			named += size
		}
	}
	return unnamed > named
}

func samplingText(period int64) string {
	if period <= 1 {
		return "records every allocation"
	}
	return fmt.Sprintf("samples every %d bytes", period)
}

// remarks returns the lines below the table: the notes, the expired suppressions, and what to do next.
func (g *Report) remarks() (out []string) {
	if s := g.UnmatchedShare() - g.MovedShare; s > manyUnmatched {
		out = append(out, "note: "+units.Percent(s)+" "+g.unmatchedReason())
	}
	for _, n := range g.notes() {
		out = append(out, "note: "+text.Clip(n, 500))
	}
	for _, e := range g.Expired {
		line := fmt.Sprintf("expired: the suppression %s ended on %s and no longer applies", text.Clip(e.Pattern, 60),
			e.Until.Format("2006-01-02"))
		if e.Reason != "" {
			line += ": " + text.Clip(e.Reason, 200)
		}
		out = append(out, line)
	}
	if g.Verdict == gate.Fail && g.Next != "" {
		out = append(out, "next: "+text.Clean(g.Next))
	}
	return out
}
