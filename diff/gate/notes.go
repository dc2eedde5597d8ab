package gate

// Note is a fact about the comparison that affects how to read the result. Its kind determines
// which fields are set.
type Note struct {
	Kind NoteKind
	// Run is the name of the run that the note is about.
	Run string
	// Text is a name or a text that was given: a note kept with the run, a pattern, a program.
	Text string
	// Other is a second name.
	Other string
	// Count is a number of runs, or of functions, and Of the number of all of them.
	Count, Of int
	// Bytes is an amount of memory.
	Bytes float64
	// Seconds is the length of the current run. Shortest and Longest are those of the earlier runs.
	Seconds, Shortest, Longest float64
	// Mismatch is the reason why runs are not comparable.
	Mismatch *Mismatch
}

// NoteKind is the kind of a [Note].
type NoteKind string

// Kinds of notes.
const (
	// NoteDuplicateRuns: Count earlier runs were given more than once and are left out.
	NoteDuplicateRuns NoteKind = "duplicate-runs"
	// NoteCurrentAmongBaselines: the current run was in the baseline set and is left out there.
	NoteCurrentAmongBaselines NoteKind = "current-among-baselines"
	// NoteForced: runs were compared although Mismatch makes them not comparable.
	NoteForced NoteKind = "forced"
	// NoteOfRun: Text was noted when the current run was summarized.
	NoteOfRun NoteKind = "run-note"
	// NoteOtherInterpreter: Run ran under the interpreter Text, and the current run under Other, which
	// is another build.
	NoteOtherInterpreter NoteKind = "other-interpreter"
	// NoteFailedRun: the program of Run failed, as Text says. Run is empty for the current run.
	NoteFailedRun NoteKind = "failed-run"
	// NoteFewBaselines: the baseline set has Count runs, fewer than LeastBaselines, so that the
	// noise between runs is unknown.
	NoteFewBaselines NoteKind = "few-baselines"
	// NoteOtherProgram: Run ran the program Text, the current run ran Other.
	NoteOtherProgram NoteKind = "other-program"
	// NoteOtherMethod: Run was recorded in the way Text, and the current run in the way Other, so that only one of them
	// has what the program allocated at its start.
	NoteOtherMethod NoteKind = "other-method"
	// NoteOtherProcesses: Run has Count processes, the current run has Of.
	NoteOtherProcesses NoteKind = "other-processes"
	// NoteNoClock: the current run has no clock, so that slopes are not compared.
	NoteNoClock NoteKind = "no-clock"
	// NoteSlopesOmitted: slopes are not compared with Count of Of earlier runs, because those
	// lasted Shortest to Longest and the current run Seconds.
	NoteSlopesOmitted NoteKind = "slopes-omitted"
	// NoteAllocatedOmitted: allocated bytes are not compared with Count of Of earlier runs, because
	// those have no amount of work.
	NoteAllocatedOmitted NoteKind = "allocated-omitted"
	// NoteNoWork: allocated bytes are not compared, because the current run has no amount of work
	// and an earlier one has.
	NoteNoWork NoteKind = "no-work"
	// NoteTruncatedRun: the snapshots of Run are truncated and may hide Bytes of a call path that
	// is absent.
	NoteTruncatedRun NoteKind = "truncated-run"
	// NoteUnusedRule: the site rule with the pattern Text matches no function.
	NoteUnusedRule NoteKind = "unused-rule"
	// NoteExcluded: the heap as a whole is judged without Count functions of Bytes in all, which
	// are suppressed or have their own thresholds.
	NoteExcluded NoteKind = "excluded"
)

// forced are notes on mismatches that the caller chose to ignore.
func forced(mismatches []Mismatch) (out []Note) {
	for i := range mismatches {
		out = append(out, Note{Kind: NoteForced, Mismatch: &mismatches[i]})
	}
	return out
}
