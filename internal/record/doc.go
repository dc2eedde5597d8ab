// Package record runs a program under a preloaded allocator that writes heap snapshots. It stores
// with them what later analysis needs: times, processes, memory sizes, build IDs of mapped files,
// and maps of generated code.
//
//	plan, err := record.Prepare(options)   // finds the program, the engine and its library; changes nothing
//	outcome, err := plan.Run(ctx)          // runs the program and collects its snapshots
//
// Before the run: options.go and plan.go define and prepare a recording. engine.go is the interface
// of a profiler; builtin.go, tcmalloc.go and jemalloc.go implement it. Package preload has the
// built-in engine. Package program examines the
// program and finds libraries. check.go loads the library into the program. agent.go and package
// agent change how the allocator names its files. Package preloadfile stores what is preloaded where
// no other user can replace it.
//
// During the run: run.go starts the program, forwards signals and waits. Package sig finds out who
// sent a signal and which signals are ignored. collect.go watches the directory and removes surplus
// snapshots, package written reads what the engine writes, package proc reads /proc, and copies.go
// copies maps of generated code and the vdso. finish.go ends a recording.
//
// attached.go records a process that runs already, without starting it. Package attach loads the
// engine into it.
//
// The program keeps its standard streams, terminal, working directory, process group and
// environment, to which only the variables in Plan.Settings are added. The package works on Linux
// only.
package record
