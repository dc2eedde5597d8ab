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
// [Judge] is one pipeline. A step is a function of the results of the steps before it, and none
// changes what an earlier one returned:
//
//	window.go   window    which snapshots are judged, each of the others with a reason, and facts about all of them
//	gap.go      gap       the time after the last snapshot in which the process did not allocate
//	curves.go   curves    the bytes and objects of each call path by snapshot, and by how much each grew
//	groups.go   groups    which call paths are one site, which are suppressed, and the size of the heap that is left
//	cohort.go   cohort    what the sites have in common: when they grow, and when they allocate
//	work.go     work      the second clock: the work that the process had done by each snapshot
//	births.go   Births    when the memory in use at the end was allocated, of some call paths, where snapshots tell it
//	judge.go    Site      features, confidence and label of each site, and of its call paths if the site does not leak
//	heap.go     heap      the same for the whole heap, and for the resident set
//	list.go     listing   which sites are listed, and in what order
//	causes.go   causes    the functions through which many sites grow
//	verdict.go  Result    the verdict on the series, and what it rests on
//
// The steps that look at each call path or site by itself do so on all processors (processors.go).
// pool.go judges a result again by what all processes of the program show, and returns another one.
//
// Package sites has the columns and the choice of the window; package trend turns a curve into
// features, features into a confidence, and a confidence into a label; package symbolize/class
// decides which frame a site is attributed to.
package growth
