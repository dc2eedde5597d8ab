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
	Current *baseline.Run
	Pool    []*baseline.Run
	Pinned  *baseline.Run
	// Significance says that the pool is large enough (four runs) to know its noise. Else thresholds alone decide.
	Significance bool
	// Total is the whole heap.
	Total Row
	// Rows are the sites that differ: what regressed first, then by the size of the change.
	Rows []Row
	// Unchanged is the number of rows that do not differ.
	Unchanged int
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
	Changed    Status = "changed"    // beyond the noise, or by 2 % and more, and within the thresholds
	New        Status = "new"        // not in the base, and within the thresholds
	Moved      Status = "moved"      // a neighbour lost what this row gained
	Improved   Status = "improved"
	Gone       Status = "gone"
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
	BasePool   Base = "pool"
	BasePinned Base = "pinned"
)

// Row is a function to which allocations are put down, matched between the runs.
type Row struct {
	Status Status
	// Values are the comparisons that were made, the one that decided Status first.
	Values []Value
	// Tier is the least sure step that matched any of its sites; Unmatched if it is new or gone.
	Tier identity.Tier
	// Site stands for the row: the largest member, of the current run unless the row is gone.
	Site *baseline.Site
	// Stacks is the number of members.
	Stacks int
	// MovedWith names the rows that lost or gained what this one gained or lost.
	MovedWith []string
	// Suppression is what names the row, if any.
	Suppression *suppress.Entry
	// Fingerprint is the same for the row in every build and run: hex.
	Fingerprint string
}

// Value is one metric of a row against one base.
type Value struct {
	Metric Metric
	Base   Base
	// Before is the median of the pool, or the pinned run's value; After the current one. Bytes, bytes per hour, or bytes per unit of work.
	Before, After float64
	// Noise is the standard deviation of Before by which Z = (After-Before)/Noise; both 0 without significance.
	Noise, Z float64
	// Exceeds says that the thresholds are exceeded.
	Exceeds bool
}

// Delta is the change.
func (v Value) Delta() float64 { return v.After - v.Before }
