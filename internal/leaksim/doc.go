// Package leaksim simulates processes whose leaks are known, and writes the snapshots that an
// allocator would write of them.
//
// [Simulate] draws a process from a seed: its functions and how each one uses memory
// ([Behaviours]), its load, and the way in which it is recorded. [Process.Write] writes its files;
// [Process.Functions] returns the truth about each function and the curve that the files show of
// it. The same seed gives the same process on every machine.
package leaksim
