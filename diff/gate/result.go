package gate

import (
	"github.com/heaplapse/heaplapse/diff/baseline"
	"github.com/heaplapse/heaplapse/diff/identity"
	"github.com/heaplapse/heaplapse/diff/suppress"
)

// Verdict is the answer for the run as a whole.
type Verdict string

// The answers.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
)

// Result is the comparison of a run with earlier ones.
type Result struct {
	Verdict Verdict
	// Why says in words what Verdict rests on.
	Why string
	// Current is the run that was judged, Pool the good runs before it, the latest first, Pinned an old one, nil if none was given.
	Current   *baseline.Run
	Baselines []*baseline.Run
	Reference *baseline.Run
	// Significance says that the pool is large enough (four runs) to know its noise. Else thresholds alone decide.
	Significance bool
	// Total is the whole heap.
	Total Row
	// Rows are the sites that differ: what regressed first, then by the size of the change.
	Rows []Row
	// Tested is the number of rows that were compared, Unchanged that of those that do not differ, or by less than a tenth of the thresholds.
	Tested, Unchanged int
	// Tiers tells how the current sites were matched with those of the pool's latest run (the pinned one without a pool), by bytes in use
	// on both sides.
	Tiers [identity.Unmatched + 1]TierShare
	// Suppressions that no longer apply, because their day has passed.
	Expired []suppress.Entry
	// Notes are facts about the comparison that a reader should know.
	Notes []string
}

// TierShare is what was matched at one step.
type TierShare struct {
	Sites int
	Bytes float64
}

// Status is what happened to a row.
type Status string

// Statuses. Only Regressed fails the gate.
const (
	Regressed  Status = "regressed"
	Suppressed Status = "suppressed" // it regressed, and that is known
	Changed    Status = "changed"    // by 2 % and more, and more than sampling makes; within the thresholds
	New        Status = "new"        // not in the base, and within the thresholds
	Moved      Status = "moved"      // a neighbour lost what this row gained
	Improved   Status = "improved"
	Gone       Status = "gone"
	Unchanged  Status = "unchanged" // of the total only: rows that do not differ are not listed
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

// Bases.
const (
	BaseSet       Base = "pool"
	BaseReference Base = "pinned"
)

// Row is a function to which allocations are put down, matched between the runs.
type Row struct {
	Status Status
	// Values are the comparisons that were made, the one that decided Status first.
	Values []Value
	// Tier is the least sure step that matched any of its sites; Unmatched if it is new or gone.
	Tier identity.Tier
	// Function is the name that the row's sites have in common: normalised, without template arguments; "" for the total.
	Function string
	// Site stands for the row: the member that changed most the way the row did, of the current run unless the row is gone. nil for the total.
	Site *baseline.Site
	// Stacks is the number of members.
	Stacks int
	// Thresholds are those that applied.
	Thresholds Thresholds
	// MovedWith names the rows that lost or gained what this one gained or lost.
	MovedWith []string
	// Suppression is what names the row, if any.
	Suppression *suppress.Entry
	// Fingerprint is the same for the row in every build and run: hex.
	Fingerprint string

	size float64 // of the change that decided, in bytes
}

// Value is one metric of a row against one base.
type Value struct {
	Metric Metric
	Base   Base
	// Before is the median of the pool, or the pinned run's value; After the current one. Bytes, bytes per hour, or bytes per unit of work.
	Before, After float64
	// Moved is what of the change neighbours lost, or gained where it is negative. The rest is judged.
	Moved float64
	// Noise is the standard deviation by which Z = (After-Before-Moved)/Noise; both 0 without significance. |Z| is at most MaxZ.
	Noise, Z float64
	// Need is the Z that was asked for: the threshold, or more where many rows are tested; 0 without significance.
	Need float64
	// Judged says that the value can fail the gate; else it is shown only.
	Judged bool
	// Exceeds says that the thresholds are exceeded.
	Exceeds bool
}

// MaxZ is the largest Z that is told: what differs from values without any noise differs by that much.
const MaxZ = 99

// Delta is the change.
func (v Value) Delta() float64 { return v.After - v.Before }

// Rest is the part of the change that is judged.
func (v Value) Rest() float64 { return v.Delta() - v.Moved }

// UnmatchedShare is the share of the bytes in use, of the current run and the latest earlier one, that no step matched.
func (r *Result) UnmatchedShare() float64 {
	all := 0.0
	for _, t := range r.Tiers {
		all += t.Bytes
	}
	if all <= 0 {
		return 0
	}
	return r.Tiers[identity.Unmatched].Bytes / all
}
