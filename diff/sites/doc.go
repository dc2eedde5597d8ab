// Package sites holds what the comparisons below diff share: the bytes of each allocation site by snapshot ([Collector],
// [Column]), the grouping of sites ([Grouper]), their suppression ([Suppressor]), and which snapshots of a series are
// judged ([JudgedRange]).
package sites
