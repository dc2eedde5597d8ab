package gate

import (
	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// Result is the comparison of a run with earlier ones.
type Result struct {
	Verdict Verdict
	// FirstRun reports that there was no earlier run: nothing was compared.
	FirstRun bool
	// Current is the run that was judged.
	Current *baseline.Run
	// Baselines is the baseline set: good runs before the current one, the latest first.
	Baselines []*baseline.Run
	// Reference is an old run that slow drift is measured against; nil if none was given.
	Reference *baseline.Run
	// Significance reports whether the set has LeastBaselines runs, so that the noise between runs
	// is known. Else only the other thresholds apply.
	Significance bool
	// Total is the whole heap. It has no Site, Function and Fingerprint. It regressed only if it does
	// so without the functions that regressed, too; its Values are those of the whole heap.
	Total Row
	// Rows are the functions that changed: first those that regressed, then those that are
	// suppressed, each by the size of the change.
	Rows []Row
	// Same are the other functions, with the status Unchanged.
	Same []Row
	// Tested is the number of functions that were compared. Unchanged is the number of those that
	// Rows does not have: they changed by less than a tenth of the thresholds in bytes, or by no
	// more than their noise.
	Tested, Unchanged int
	// Tiers counts how the sites of the current run match those of the latest run of the set; of
	// the reference run without a set.
	Tiers identity.Tally
	// MovedShare is the part of UnmatchedShare in functions with the status Moved.
	MovedShare float64
	// Expired are suppressions that no longer apply, because their last day has passed.
	Expired []suppress.Entry
	// Notes are facts about the comparison that affect how to read the result.
	Notes []Note
}

// Verdict is the answer for the run as a whole.
type Verdict string

// Verdicts.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Refused means that there is no verdict, because the runs are not comparable. [Compare] returns an error then.
	Refused Verdict = "not-comparable"
)

// Status is what happened to a row.
type Status string

// Statuses. Only Regressed fails the gate.
const (
	Regressed  Status = "regressed"
	Suppressed Status = "suppressed" // it regressed, and a suppression names it
	Changed    Status = "changed"    // by 2 % or more, by more than sampling does, and within the thresholds
	New        Status = "new"        // in no earlier run, and within the thresholds
	Moved      Status = "moved"      // functions nearby lost what this one gained, or gained what it lost
	Improved   Status = "improved"   // it lost as much as it must not gain
	Gone       Status = "gone"       // not in the current run
	Unchanged  Status = "unchanged"  // of Total and Same only
)

// Metric is what was compared.
type Metric string

// Metrics.
const (
	MetricLevel     Metric = "level"     // bytes in use, steady
	MetricSlope     Metric = "slope"     // bytes in use gained per hour
	MetricAllocated Metric = "allocated" // bytes allocated, per unit of work if that is known
)

// Base is what a value was compared with.
type Base string

// Bases. Their values are those of the JSON output.
const (
	BaseSet       Base = "pool"   // the median of the baseline set
	BaseReference Base = "pinned" // the reference run
)

// Row is a function that allocations are attributed to, matched between the runs; or the whole
// heap.
type Row struct {
	Status Status
	// Values are the comparisons that were made, the one that decided Status first.
	Values []Value
	// Tier is the least sure step that matched any of its sites; identity.Unmatched if the function
	// is new or gone.
	Tier identity.Tier
	// Function is its name, normalised and without template arguments.
	Function string
	// Site is the one that changed most in the direction of the row, of the current run unless the
	// function is gone.
	Site *baseline.Site
	// Stacks is the number of its sites in the current run; in all runs if it is gone.
	Stacks int
	// Thresholds are those that applied.
	Thresholds Thresholds
	// MovedWith names the functions that lost what this one gained, or gained what it lost.
	MovedWith []string
	// Suppression is the suppression that matches the row; nil if there is none.
	Suppression *suppress.Entry
	// Fingerprint, in hexadecimal, is the same for the function in every build and run.
	Fingerprint string
}

// Value is one metric of a row against one base.
type Value struct {
	Metric Metric
	Base   Base
	// Before is the value of the base, After that of the current run: in bytes, bytes per hour, or
	// bytes per unit of work.
	Before, After float64
	// Moved is the part of the change that functions nearby explain: how much larger Before is if what
	// they had in the runs before a move counts for this one. The rest is judged.
	Moved float64
	// Noise is the standard deviation by which Z = Rest/Noise; both are 0 if the noise between runs
	// is not known. |Z| is at most MaxZ.
	Noise, Z float64
	// Need is the Z that was required: the threshold, or more if many rows are tested; 0 if Noise
	// is not known.
	Need float64
	// Doubt is why a change that reaches all other thresholds does not exceed them; "" if it does, or
	// does not reach one of the others. Chance is the largest change that Doubt explains, in the unit
	// of the value.
	Doubt  Doubt
	Chance float64
	// Judged reports whether the value can fail the gate; else it is only shown.
	Judged bool
	// Exceeds reports whether the change reaches all thresholds.
	Exceeds bool
}

// Doubt is what may have caused a change by chance.
type Doubt string

// Doubts. Their values are those of the JSON output.
const (
	DoubtNoise    Doubt = "noise"    // runs of one build differ
	DoubtSampling Doubt = "sampling" // the uncertainty of each run by itself: sampling, the error of a slope
	DoubtUnsteady Doubt = "unsteady" // the level still rose, or fell and rose again, in the earlier runs
	DoubtMoved    Doubt = "moved"    // what moved varies
)

// MaxZ bounds Z: values without any noise may differ by any number of standard deviations.
const MaxZ = 99

// Delta returns the change.
func (v Value) Delta() float64 { return v.After - v.Before }

// Rest returns the part of the change that is judged.
func (v Value) Rest() float64 { return v.Delta() - v.Moved }

// UnmatchedShare returns the share of the bytes in use, of the current run and of the latest
// earlier one, that no step matched.
func (r *Result) UnmatchedShare() float64 { return r.Tiers.UnmatchedShare() }
