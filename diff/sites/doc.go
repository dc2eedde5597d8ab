// Package sites holds the bytes of each allocation site by snapshot ([Collector], [Column]), and
// which snapshots of a series are judged ([JudgedRange]).
//
// A site is a call path, described by places in files: two stacks of two processes, or of one
// process before and after a restart, may be the same site. Totals are conserved: the sites of a
// complete snapshot sum to the snapshot. A value that a truncated snapshot does not show is
// [Hidden], never zero.
package sites
