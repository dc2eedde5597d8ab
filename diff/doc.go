// Package diff compares snapshots: it says which allocation sites grow over a
// series and how sure that is.
//
// # Contract
//
// All comparisons are between estimates (unsampled values), and between sites, not addresses:
// a site is the same after a restart. Totals are conserved: the sites of a
// snapshot sum to the snapshot. A site that a truncated snapshot does not show
// is hidden, never zero: it is left out of the judgement at that moment.
//
// The statistics of one time series are in package trend; which frame a site is
// put down to is decided by symbolize.Blamer.
package diff
