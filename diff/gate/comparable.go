package gate

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/diff/baseline"
)

// NotComparableError reports that runs are not comparable, and why.
type NotComparableError struct{ Mismatches []Mismatch }

// Error names the kind of each mismatch and the runs that it is about.
func (e *NotComparableError) Error() string {
	parts := make([]string, len(e.Mismatches))
	for i, m := range e.Mismatches {
		parts[i] = strings.TrimSpace(fmt.Sprintf("%s %s", m.Kind, strings.Join(m.Runs, ", ")))
	}
	return "not comparable: " + strings.Join(parts, "; ")
}

// Mismatch is a reason why runs are not comparable. Kind determines which fields are set.
type Mismatch struct {
	Kind MismatchKind
	// Runs are the names of the runs that it is about.
	Runs []string
	// Earlier and Current are the formats, workloads, or programs that differ. They are empty if
	// the program is the same.
	Earlier, Current string
	// EarlierEngine and CurrentEngine are the profilers that recorded runs of formats that differ; "" if
	// that is not known.
	EarlierEngine, CurrentEngine string
	// EarlierPeriod and CurrentPeriod are the sampling periods that differ.
	EarlierPeriod, CurrentPeriod int64
	// Snapshots is the number of snapshots, and Least the number that a steady level takes.
	Snapshots, Least int
	// Share is the share of the bytes in use, 0 to 1, that match nothing.
	Share float64
}

// MismatchKind is the kind of a [Mismatch].
type MismatchKind string

// Kinds of mismatches.
const (
	MismatchSnapshots MismatchKind = "too few snapshots" // Snapshots, Least
	MismatchFormat    MismatchKind = "other format"      // Earlier, Current, EarlierEngine, CurrentEngine
	MismatchPeriod    MismatchKind = "other period"      // EarlierPeriod, CurrentPeriod
	MismatchWorkload  MismatchKind = "other workload"    // Earlier, Current
	MismatchUnrelated MismatchKind = "unrelated"         // Share, Earlier, Current; Runs is empty
)

// mismatches are the reasons why the runs are not comparable, each with all runs that it is about.
func (rs runs) mismatches() (out []Mismatch) {
	add := func(r *baseline.Run, m Mismatch) {
		i := slices.IndexFunc(out, m.sameReason)
		if i < 0 {
			i = len(out)
			out = append(out, m)
		}
		if !slices.Contains(out[i].Runs, r.Meta.Name) { // the reference run may be in the baseline set, too
			out[i].Runs = append(out[i].Runs, r.Meta.Name)
		}
	}
	for _, r := range rs.all {
		if !r.Meta.Steady() {
			add(r, Mismatch{Kind: MismatchSnapshots, Snapshots: r.Meta.Snapshots, Least: baseline.LeastSnapshots})
		}
	}
	for _, r := range rs.earlier() {
		for _, m := range differences(&rs.current().Meta, &r.Meta) {
			add(r, m)
		}
	}
	return out
}

// sameReason reports whether two mismatches differ in their runs only.
func (m Mismatch) sameReason(o Mismatch) bool {
	m.Runs, o.Runs = nil, nil
	return reflect.DeepEqual(m, o)
}

// differences are the mismatches of an earlier run with the current one.
func differences(current, earlier *baseline.Meta) (out []Mismatch) {
	if current.Format != earlier.Format {
		out = append(out, Mismatch{
			Kind: MismatchFormat, Earlier: earlier.Format, Current: current.Format,
			EarlierEngine: earlier.Engine, CurrentEngine: current.Engine,
		})
	} else if current.Period != earlier.Period {
		out = append(out, Mismatch{Kind: MismatchPeriod, EarlierPeriod: earlier.Period, CurrentPeriod: current.Period})
	}
	if !current.SameWorkload(earlier) {
		out = append(out, Mismatch{Kind: MismatchWorkload, Earlier: earlier.WorkloadName(), Current: current.WorkloadName()})
	}
	return out
}

// unrelatedShare is the share of the bytes of each run that match nothing from which on two runs
// have too little in common to compare: they are of two programs, or one of them lost its names.
// Every function would be new, and so a regression.
const unrelatedShare = 0.9

// unrelated is the mismatch of runs that have hardly a site in common, empty if they have. Renamed
// functions match nothing, but move. A heap that is hardly more than nothing cannot be told from
// another program's: what is new then is new.
func (r *Result) unrelated(comparisons []comparison) []Mismatch {
	moved := slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Status == Moved })
	if r.Tiers.Unrelated() < unrelatedShare || moved || len(comparisons) == 0 || !comparisons[0].heap.tellsPrograms() {
		return nil
	}
	m := Mismatch{Kind: MismatchUnrelated, Share: r.UnmatchedShare()}
	if earlier := r.latest(); earlier != nil && earlier.Meta.BuildID != r.Current.Meta.BuildID {
		m.Earlier, m.Current = programOf(&earlier.Meta), programOf(&r.Current.Meta)
	}
	return []Mismatch{m}
}

// latest is the newest baseline, or else the reference run; nil if there is neither.
func (r *Result) latest() *baseline.Run {
	if len(r.Baselines) > 0 {
		return r.Baselines[0]
	}
	return r.Reference
}

// programOf is the program of a run, which may be an interpreter, with its build ID.
func programOf(m *baseline.Meta) string {
	const shown = 8
	if m.BuildID == "" {
		return m.Program
	}
	return strings.TrimSpace(m.Program + " build " + m.BuildID[:min(shown, len(m.BuildID))])
}

// tellsPrograms reports whether both heaps are large enough for a judgement of how they match: each
// may regress, and the base would lose more than by chance if it lost everything.
func (c change) tellsPrograms() bool {
	least := c.before
	if len(c.set) > 0 {
		least = lowest(c.set)
	}
	return min(c.before, c.after) >= c.least && c.before >= leastLoss*c.scatter && least >= leastBelow*c.before
}

// ofCurrent are the notes that are kept with the current run.
func (rs runs) ofCurrent() (out []Note) {
	if f := rs.current().Meta.Failure; f != "" {
		out = append(out, Note{Kind: NoteFailedRun, Text: f})
	}
	for _, text := range rs.current().Meta.Notes {
		out = append(out, Note{Kind: NoteOfRun, Text: text})
	}
	return out
}

// caveats are notes on what makes the comparison less certain, or a part of it impossible.
func (rs runs) caveats() []Note {
	out := rs.ofCurrent()
	if len(rs.set) < LeastBaselines {
		out = append(out, Note{Kind: NoteFewBaselines, Count: len(rs.set)})
	}
	for _, r := range rs.earlier() {
		if f := r.Meta.Failure; f != "" {
			out = append(out, Note{Kind: NoteFailedRun, Run: r.Meta.Name, Text: f})
		}
	}
	out = append(out, rs.otherProgram()...)
	out = append(out, rs.otherInterpreter()...)
	out = append(out, rs.otherMethod()...)
	out = append(out, rs.otherProcesses()...)
	out = append(out, rs.slopesOmitted()...)
	out = append(out, rs.allocatedOmitted()...)
	for _, r := range rs.all {
		if m := r.Meta.AbsentMax; m > 0 {
			return append(out, Note{Kind: NoteTruncatedRun, Run: r.Meta.Name, Bytes: float64(m)})
		}
	}
	return out
}

// otherProgram is a note on the first run of another program. Each build may have its own name, so
// this is no mismatch.
func (rs runs) otherProgram() []Note {
	current := rs.current().Meta.Program
	for _, r := range rs.earlier() {
		if p := r.Meta.Program; p != current && p != "" && current != "" {
			return []Note{{Kind: NoteOtherProgram, Run: r.Meta.Name, Text: p, Other: current}}
		}
	}
	return nil
}

// otherInterpreter is a note on the first run under another build of the same interpreter.
func (rs runs) otherInterpreter() []Note {
	current := &rs.current().Meta
	for _, r := range rs.earlier() {
		m := &r.Meta
		if m.Program == current.Program && m.Interpreted() && m.BuildID != current.BuildID {
			return []Note{{Kind: NoteOtherInterpreter, Run: m.Name, Text: programOf(m), Other: programOf(current)}}
		}
	}
	return nil
}

// otherMethod is a note on the first run that was recorded in another way.
func (rs runs) otherMethod() []Note {
	current := &rs.current().Meta
	for _, r := range rs.earlier() {
		if m := &r.Meta; m.OtherMethod(current) {
			return []Note{{Kind: NoteOtherMethod, Run: m.Name, Text: m.Method, Other: current.Method}}
		}
	}
	return nil
}

// otherProcesses is a note on the first run with another number of processes.
func (rs runs) otherProcesses() []Note {
	current := max(rs.current().Meta.Processes, 1)
	for _, r := range rs.earlier() {
		if n := max(r.Meta.Processes, 1); n != current {
			return []Note{{Kind: NoteOtherProcesses, Run: r.Meta.Name, Count: n, Of: current}}
		}
	}
	return nil
}

func (rs runs) slopesOmitted() []Note {
	if rs.current().Meta.Span == 0 {
		return []Note{{Kind: NoteNoClock}}
	}
	n := rs.unusable(rs.hasSlope)
	if n == 0 {
		return nil
	}
	note := Note{Kind: NoteSlopesOmitted, Count: n, Of: len(rs.earlier())}
	note.Seconds, note.Shortest = rs.current().Meta.Span, math.Inf(1)
	for _, r := range rs.earlier() {
		note.Shortest, note.Longest = min(note.Shortest, r.Meta.Span), max(note.Longest, r.Meta.Span)
	}
	return []Note{note}
}

func (rs runs) allocatedOmitted() []Note {
	n := rs.unusable(rs.hasAllocated)
	switch {
	case n == 0 || !rs.current().Meta.HasAlloc:
		return nil
	case rs.hasWork():
		return []Note{{Kind: NoteAllocatedOmitted, Count: n, Of: len(rs.earlier())}}
	case slices.ContainsFunc(rs.earlier(), func(r *baseline.Run) bool { return r.Meta.Work > 0 }):
		return []Note{{Kind: NoteNoWork}}
	}
	return nil
}

// unusable counts the earlier runs for which usable is false.
func (rs runs) unusable(usable func(run int) bool) (n int) {
	for i := range rs.earlier() {
		if !usable(i + 1) {
			n++
		}
	}
	return n
}
