// Package growth reports which allocation sites of a series grow, and how likely each of them leaks.
//
// # Contract
//
// All comparisons are between estimates (unsampled values), and between sites, not addresses: a site is the same after a
// restart. Totals are conserved: the sites of a snapshot sum to the snapshot. A site that a truncated snapshot does not
// show is hidden, never zero: that moment is left out when the site is judged.
//
// Package trend holds the statistics of one curve; package symbolize decides which frame a site is attributed to.
package growth
