// Package gate compares a run with earlier good runs, function by function, and decides whether a
// function regressed.
//
// # Contract
//
// [Compare] takes summaries of runs ([baseline.Run]): the current run, a baseline set of earlier
// good runs, and optionally a reference run, an old run that slow drift is measured against. It
// reads no file and prints nothing. The [Result] does not depend on the order of the runs. A result
// holds data only; package report turns it into words.
//
// # Steps
//
// Each step is a function of values, in a file of its own:
//
//	match    finds every allocation site in every run (diff/identity)
//	rows     groups the sites by function
//	moves    recognizes functions that were renamed, split or moved in one of the runs
//	compare  measures how each row differs from each base, in each metric
//	decide   applies the thresholds and sets the status of every row
//
// The rows and [baseline.Run.Rest] add up to the total of every run, however the sites were
// matched.
//
// # Decision
//
// A metric is the steady level of the bytes in use, their slope over the run, or the bytes
// allocated. A base is the median of the baseline set, or the reference run. In each metric and
// against each base, the change of a row is
//
//	Δ = after − before − moved
//
// A row regressed if Δ reaches every threshold:
//
//	Δ ≥ Thresholds.Bytes                a small change costs more to investigate than it saves
//	Δ ≥ Thresholds.Share × heap         the same, in proportion to the program
//	Δ ≥ Thresholds.Percent × before     runs of one build differ by a few percent
//	Δ ≥ z × noise                       runs of one build differ by the noise
//
// noise is the largest of the standard deviation of the row between runs, the uncertainty that each
// run has by itself (sampling, the error of a slope), and 2 % of before or of Thresholds.Bytes,
// because identical values in a few runs do not prove that there is no noise.
//
// The first two thresholds are for changes that are just sure enough. A surer change counts for
// more (see weigh), unless the caller chose a size.
//
// If a set has few runs, its standard deviation is not accurate. It is multiplied by a factor from
// Student's t distribution, so that an unchanged run reaches z × noise as often as a normal value
// reaches z standard deviations (see calibration). With fewer than [LeastBaselines] runs there is
// no such estimate: only the other thresholds and what each run tells by itself apply.
//
// With many rows, a false alarm is likely. Unless the caller chooses z, it is raised so that at
// least one row that is large enough to regress exceeds it by chance in one run of twenty
// (Bonferroni).
//
// A function that is renamed, split or moved gains what another function loses. What the other
// function had in the runs before the move counts for this one, each byte of it only once, before
// medians and noise are computed. So a move is not a regression, it does not hide one, and the set
// may have runs from before and from after it.
//
// A slow drift passes every comparison with the latest runs, because they drift, too. It regresses
// against the reference run.
package gate
