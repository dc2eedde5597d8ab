// Package record runs a program under a preloaded allocator that writes heap snapshots, and keeps beside them what
// they will need later: times, processes, memory, build IDs of the mapped files, maps of generated code.
//
//	plan, err := record.Prepare(options)   // finds the program, the engine and its library; changes nothing
//	outcome, err := plan.Run(ctx)          // runs the program, collects, ends as it ends
//
// Rooms: options.go and plan.go say what will be done; engine.go is what a profiling allocator must offer,
// tcmalloc.go and jemalloc.go are the two there are; find.go finds their libraries, target.go looks at the
// program, check.go tries the two together, sender.go tells ^C from kill(1), inherited.go which signals are
// ignored, agent.go and agent/ change how the allocator names its files; run.go starts, passes on signals and
// waits; collect.go follows the directory, snapshot.go reads what a snapshot says of itself, process.go what /proc
// says of its process, keep.go thins out, jit.go copies maps of generated code.
//
// The program's standard streams, terminal, working directory, process group and environment are its own; only the
// variables of Plan.Settings are added. Linux only.
package record
