package gate

import (
	"fmt"
	"slices"
	"strings"

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
		out = append(out, "a later run is compared with this one once it is saved"+
			g.Flags.If(option.RequireBaseline, "; %s makes a missing baseline an error"))
	}
	for i := range g.Notes {
		out = append(out, noteText(&g.Notes[i], g.Flags))
	}
	if g.Losses != nil {
		out = append(out, siteview.LossNotes(g.Losses.Reports)...)
	}
	if g.Config != "" {
		out = append(out, "thresholds and suppressions are those of "+g.Config)
	}
	return out
}

// noteText returns a note as text.
func noteText(n *gate.Note, f option.Flags) string {
	switch n.Kind {
	case gate.NoteDuplicateRuns:
		if n.Count == 1 {
			return "an earlier run is given twice; it counts once"
		}
		return fmt.Sprintf("earlier runs are given more than once; each counts once, and %d are left out", n.Count)
	case gate.NoteCurrentAmongBaselines:
		return "the current run is also in the baseline set; it is left out there"
	case gate.NoteForced:
		return "compared only because of " + f.Of(option.Force) + ": " + mismatchText(n.Mismatch)
	case gate.NoteOfRun:
		return "current run: " + n.Text
	case gate.NoteFewBaselines:
		return fmt.Sprintf("fewer than %d baselines (%d): the noise between runs is not known, only the thresholds apply",
			gate.LeastBaselines, n.Count)
	case gate.NoteOtherProgram:
		return fmt.Sprintf("%s ran %s, the current run %s", n.Run, n.Text, n.Other)
	case gate.NoteOtherProcesses:
		return fmt.Sprintf("%s has %s, the current run %d: their memory is added up", n.Run,
			units.CountOf(n.Count, "process", "processes"), n.Of)
	case gate.NoteNoClock:
		return "slopes are not compared: the current run has no clock"
	case gate.NoteSlopesOmitted:
		return slopesText(n)
	case gate.NoteAllocatedOmitted:
		if n.Count == n.Of {
			return "allocated bytes are not compared: no earlier run has an amount of work" + f.If(option.Work, " (%s)")
		}
		return fmt.Sprintf("allocated bytes are not compared with %d of %d runs: they have no amount of work",
			n.Count, n.Of) + f.If(option.Work, " (%s)")
	case gate.NoteNoWork:
		return "allocated bytes are not compared: the current run has no amount of work" + f.If(option.Work, " (%s)")
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

// NotComparable is the reason why runs are not comparable.
func NotComparable(e *gate.NotComparableError) string {
	parts := make([]string, len(e.Mismatches))
	for i := range e.Mismatches {
		parts[i] = mismatchText(&e.Mismatches[i])
	}
	return "not comparable: " + strings.Join(parts, "; ")
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
		return fmt.Sprintf("recorded as %s, and the current run as %s", m.Earlier, m.Current)
	case gate.MismatchPeriod:
		return fmt.Sprintf("%s, and the current run %s", samplingText(m.EarlierPeriod), samplingText(m.CurrentPeriod))
	case gate.MismatchWorkload:
		return fmt.Sprintf("its workload is %q, that of the current run is %q", m.Earlier, m.Current)
	case gate.MismatchUnrelated:
		return fmt.Sprintf(
			"%.0f %% of the bytes have no match in the other run: it is another program, or the program was rebuilt and the earlier snapshots "+
				"lost their names (heaplapse baseline save keeps them)",
			100*m.Share,
		)
	}
	return string(m.Kind)
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
	if one := slices.ContainsFunc(g.Rows, isUnmatched); !one || slices.ContainsFunc(g.Rows, isUnnamed) {
		return "of the bytes have no match in the baselines: only the totals are comparable, not the call paths. " +
			"If the earlier runs are snapshots, their program may have been rebuilt since; heaplapse baseline save keeps the names"
	}
	return "of the bytes are in functions that only one side has: they are new, gone or renamed. " +
		"What a function nearby lost is not counted against one that is new"
}

func isUnmatched(r gate.Row) bool { return r.Tier == identity.Unmatched }

// isUnnamed reports whether a row has no match and no name.
func isUnnamed(r gate.Row) bool {
	return isUnmatched(r) && r.Site != nil && r.Site.Blame >= 0 && r.Site.Frames[r.Site.Blame].Unnamed()
}

func samplingText(period int64) string {
	if period <= 1 {
		return "records every allocation"
	}
	return fmt.Sprintf("samples every %d bytes", period)
}

// remarks returns the lines below the table: the notes and the expired suppressions.
func (g *Report) remarks() (out []string) {
	if s := g.UnmatchedShare() - g.movedShare(); s > manyUnmatched {
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
	return out
}
