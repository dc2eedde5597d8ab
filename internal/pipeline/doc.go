// Package pipeline runs the steps that commands share: it opens snapshots or a bundle, names the
// addresses, and judges, compares, summarizes or converts the result.
//
// It returns results, which internal/report puts into words. It prints nothing and does not depend
// on flags. A problem of the input that does not prevent a result is reported as a [Notice].
package pipeline
