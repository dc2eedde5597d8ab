// Package births adds to snapshots when the memory of each row was allocated.
//
// The engine numbers its samples in the order in which they are taken, and keeps the number of each live one
// (engine/src/heap/live.c). When a snapshot begins, the recorder reads the live samples from outside, and the number of
// the newest one. A sample with a number up to that of an earlier snapshot was allocated before that one was taken. So
// the engine does nothing for it, and a sample that realloc makes larger or smaller is a new one.
//
// The engine has counted the rows a moment before that. Samples that a row does not have are the newest ones, so that
// the snapshot's newest sample is older than any of them. What was allocated before a snapshot is never more in a later
// one.
package births
