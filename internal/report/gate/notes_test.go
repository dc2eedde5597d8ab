package gate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/heaplapse/heaplapse/diff/gate"
	gatereport "github.com/heaplapse/heaplapse/internal/report/gate"
)

// TestNoteTexts has every kind of note.
func TestNoteTexts(t *testing.T) {
	mismatch := gate.Mismatch{Kind: gate.MismatchWorkload, Earlier: "replay", Current: "import", Runs: []string{"night09", "night08", "night07"}}
	for _, c := range []struct {
		note gate.Note
		want string
	}{
		{gate.Note{Kind: gate.NoteDuplicateRuns, Count: 1}, "an earlier run is given twice; it counts once"},
		{gate.Note{Kind: gate.NoteDuplicateRuns, Count: 2}, "earlier runs are given more than once; each counts once, and 2 are left out"},
		{gate.Note{Kind: gate.NoteCurrentAmongBaselines}, "the current run is also in the baseline set; it is left out there"},
		{gate.Note{Kind: gate.NoteForced, Mismatch: &mismatch}, `compared only because of --force: night09 and 2 more: its workload is "replay", that of the current run is "import"`},
		{gate.Note{Kind: gate.NoteOfRun, Text: "judged on snapshots 1 to 5 of 14: one process image"}, "current run: judged on snapshots 1 to 5 of 14: one process image"},
		{gate.Note{Kind: gate.NoteFailedRun, Text: "exit status 1"}, "the program of the current run failed (exit status 1): it may not have done all of its work"},
		{gate.Note{Kind: gate.NoteFailedRun, Run: "night01", Text: "SIGSEGV"}, "the program of night01 failed (SIGSEGV): it may not have done all of its work"},
		{
			gate.Note{Kind: gate.NoteOtherInterpreter, Run: "night01", Text: "python3.11 build 571d98e0", Other: "python3.11 build a7516ae8"},
			"the interpreter of night01 is python3.11 build 571d98e0, that of the current run python3.11 build a7516ae8, which may load and keep other memory: after an upgrade, begin a new baseline set",
		},
		{
			gate.Note{Kind: gate.NoteOtherMethod, Run: "night01", Text: "record", Other: "attach"},
			"night01 was recorded by record, from the start of the program; the current run by attach, without what was allocated before: record both the same way",
		},
		{gate.Note{Kind: gate.NoteFewBaselines, Count: 3}, "fewer than 4 baselines (3): the noise between runs is not known; a change must reach the thresholds, and be more than sampling explains"},
		{gate.Note{Kind: gate.NoteOtherProgram, Run: "night01", Text: "shopd", Other: "shopd2"}, "night01 ran shopd, the current run shopd2"},
		{gate.Note{Kind: gate.NoteNoClock}, "slopes are not compared: the current run has no clock"},
		{gate.Note{Kind: gate.NoteSlopesOmitted, Count: 4, Of: 4, Seconds: 3600, Shortest: 600, Longest: 600}, "slopes are not compared: the runs differ too much in length (current run 1h, earlier runs 10m)"},
		{gate.Note{Kind: gate.NoteSlopesOmitted, Count: 1, Of: 6, Seconds: 600, Shortest: 60, Longest: 630}, "slopes are not compared with 1 of 6 runs: the runs differ too much in length (current run 10m, earlier runs 1m to 10m30s)"},
		{gate.Note{Kind: gate.NoteSlopesOmitted, Count: 1, Of: 1, Seconds: 600}, "slopes are not compared: the runs differ too much in length (current run 10m, earlier runs unknown)"},
		{gate.Note{Kind: gate.NoteAllocatedOmitted, Count: 5, Of: 5}, "allocated bytes are not compared: no earlier run has an amount of work (--work)"},
		{gate.Note{Kind: gate.NoteAllocatedOmitted, Count: 2, Of: 5}, "allocated bytes are not compared with 2 of 5 runs: they have no amount of work (--work)"},
		{gate.Note{Kind: gate.NoteNoWork}, "allocated bytes are not compared: the current run has no amount of work (--work)"},
		{gate.Note{Kind: gate.NoteTruncatedRun, Run: "night01", Bytes: 960}, "night01: its snapshots are truncated: a call path that is not listed may have up to 960 B"},
		{gate.Note{Kind: gate.NoteUnusedRule, Text: "Cashe"}, "no function matches Cashe, so its thresholds apply to nothing"},
		{gate.Note{Kind: gate.NoteExcluded, Count: 1, Bytes: 3 << 20}, "the heap as a whole is judged without 3.00 MiB of 1 function with suppressions or thresholds of their own"},
	} {
		result := passing()
		result.Notes = []gate.Note{c.note}
		var out struct{ Notes []string }
		require.NoError(t, json.Unmarshal([]byte(render(t, rendered(result), "json")), &out))
		require.Equal(t, []string{c.want}, out.Notes)
		require.Contains(t, render(t, rendered(result), "txt"), "\nnote: "+c.want+"\n")
	}
	withConfig := rendered(passing())
	withConfig.Config = "nightly.yaml"
	require.Contains(t, render(t, withConfig, "txt"), "note: thresholds and suppressions are those of nightly.yaml\n")
}

// remedies are what makes runs with a mismatch comparable.
var remedies = map[gate.MismatchKind]string{
	gate.MismatchFormat: "; record the run and its baselines with the same engine (--engine), " +
		"or begin a new baseline set; --force compares anyway",
	gate.MismatchPeriod: "; --force compares anyway",
	gate.MismatchWorkload: "; if the work is the same, give it one name for gate and for baseline save (--workload NAME)" +
		", or --force compares it once",
	gate.MismatchUnrelated: "; --force compares anyway",
}

// TestNotComparableTexts has every kind of mismatch.
func TestNotComparableTexts(t *testing.T) {
	runs := []string{"night02"}
	for _, c := range []struct {
		mismatch gate.Mismatch
		want     string
	}{
		{gate.Mismatch{Kind: gate.MismatchSnapshots, Runs: runs, Snapshots: 3, Least: 4}, "night02: 3 snapshots are too few for a steady level: at least 4 are needed; record for longer"},
		{gate.Mismatch{Kind: gate.MismatchFormat, Runs: runs, Earlier: "jemalloc heap_v2", Current: "heapprofile"}, "night02: recorded as jemalloc heap_v2, and the current run as heapprofile"},
		{
			gate.Mismatch{Kind: gate.MismatchFormat, Runs: runs, Earlier: "scaled heapprofile", Current: "heapprofile",
				EarlierEngine: "builtin", CurrentEngine: "tcmalloc"},
			"night02: recorded by builtin (scaled heapprofile), and the current run by tcmalloc (heapprofile)",
		},
		{gate.Mismatch{Kind: gate.MismatchPeriod, Runs: runs, EarlierPeriod: 524288}, "night02: samples every 524288 bytes, and the current run records every allocation"},
		{gate.Mismatch{Kind: gate.MismatchWorkload, Runs: []string{"a", "b"}, Earlier: "x", Current: "y"}, `a and 1 more: its workload is "x", that of the current run is "y"`},
		{gate.Mismatch{Kind: gate.MismatchUnrelated, Share: 0.97}, "97 % of the bytes have no match in the other run: it is another program, or the program was rebuilt and the earlier snapshots lost their names (heaplapse baseline save keeps them)"},
		{
			gate.Mismatch{Kind: gate.MismatchUnrelated, Share: 0.97, Earlier: "python3.11 571d98e0", Current: "python3.11 a7516ae8"},
			"97 % of the bytes have no match in the other run: the earlier run is of python3.11 571d98e0, the current one of python3.11 a7516ae8; " +
				"after an upgrade, begin a new baseline set",
		},
	} {
		e := &gate.NotComparableError{Mismatches: []gate.Mismatch{c.mismatch}}
		require.Equal(t, "not comparable: "+c.want+remedies[c.mismatch.Kind], gatereport.NotComparable(e))
	}
	two := &gate.NotComparableError{Mismatches: []gate.Mismatch{{Kind: gate.MismatchFormat, Runs: runs, Earlier: "a", Current: "b"}, {Kind: gate.MismatchPeriod, Runs: runs, CurrentPeriod: 4096}}}
	require.Equal(t, "not comparable: night02: recorded as a, and the current run as b; night02: records every allocation, and the current run samples every 4096 bytes"+remedies[gate.MismatchFormat], gatereport.NotComparable(two))
}
