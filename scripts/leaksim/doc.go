// Package leaksim simulates processes with known leaks, and writes the snapshots that an allocator
// would write.
//
// [Simulate] draws a process from a seed: its functions, the behaviour of each function (package
// behaviour), its load, what happens to it as a whole (life.go), and the way in which it is recorded
// ([Mode]). [Process.Write] writes its snapshots and its program. [Process.Functions] returns the ground
// truth about each function and its curve in the snapshots. The same seed gives the same process on
// every machine.
package leaksim
