// Package growth reports which allocation sites of a series grow, and how likely each of them is a
// leak.
//
// # Contract
//
// All comparisons are between estimates (unsampled values) and between sites, not addresses: a site
// is the same after a restart. A site that a truncated snapshot does not show is hidden, never
// zero: such a snapshot is left out when the site is judged.
//
// # Steps
//
// [Judge] calls a sequence of functions, each in its own file. A step takes the results of the
// previous steps; only setPace in scope.go changes them:
//
//	scope.go     which snapshots are judged, and facts about all of them
//	silence.go   the time after the last snapshot in which the process did not allocate
//	group.go     which sites belong together, and which are suppressed
//	crowd.go     what the groups have in common: when they allocate, and when they grow
//	heap.go      the trend of the whole heap, and of the resident set
//	judge.go     the trend of each group, and of its members if the group does not leak
//	list.go      which of them are listed, and in what order
//	causes.go    the functions through which many sites grow
//	conclude.go  the verdict on the series, and the notes
//
// pool.go judges the sites of a result again, by what all processes of the program show.
//
// Package trend has the statistics of one curve; package symbolize/class decides which frame a site
// is attributed to.
package growth
