// Package listing renders what files hold, without a verdict: the facts of a series, the functions
// of one snapshot, the frames of addresses, and the runs of a baseline set.
package listing
