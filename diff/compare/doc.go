// Package compare compares two snapshots site by site ([Snapshots]), of one process or of different
// processes and builds, and three snapshots of one process ([Persist]).
//
// [Snapshots] works in steps, a file each:
//
//	side.go     the sites of a snapshot and their counts
//	process.go  whether both snapshots are of one process image, where addresses mean the same
//	match.go    which sites of one side are which of the other (by package identity)
//	rows.go     which matches belong together, what truncation may hide of them, and what changed
//
// Totals are conserved: the differences of the rows and of what truncation hides add up to the
// difference of the snapshots' totals.
package compare
