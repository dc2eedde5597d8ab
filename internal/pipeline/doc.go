// Package pipeline runs the steps that commands share: it opens snapshots or a bundle, names the
// addresses, and judges, compares, summarizes or converts the result.
//
// It prints nothing and knows no flags. What is wrong with the input but does not prevent a result
// is told as a [Notice].
package pipeline
