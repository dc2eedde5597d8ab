// Package record runs a program under a preloaded allocator that writes heap snapshots. It stores
// with them what later analysis needs: times, processes, memory sizes, build IDs of mapped files,
// and maps of generated code.
//
//	plan, err := record.Prepare(options)   // finds the program, the engine and its library; changes nothing
//	outcome, err := plan.Run(ctx)          // runs the program and collects its snapshots
//
// Before the run: options.go and plan.go define and prepare a recording, and directory.go chooses and
// makes its directory. engine.go is the interface of a profiler; builtin.go, tcmalloc.go and
// jemalloc.go implement it. Package engine has the built-in engine and the adapter. Package program
// examines the program and finds libraries. check.go loads the library into the program. adapter.go
// configures the library that sends the snapshots of tcmalloc and jemalloc. runtimes.go makes language
// runtimes show more. Package preloadfile stores what is preloaded where no other user can replace it.
//
// During the run: recording.go begins the manifest. run.go starts the program, forwards signals and
// waits. Package sig finds out who sent a signal and which signals are ignored. Package collect
// collects the snapshots until the program has ended, and completes the manifest. Package written
// reads what the engine writes, and package proc reads /proc.
//
// attached.go records a process that runs already, without starting it. sessions.go and package
// attach load the engine into it and its descendants. The rest of the recording is the same.
//
// The program keeps its standard streams, terminal, working directory, process group and
// environment, to which only the variables in Plan.Settings are added. The package works on Linux
// only.
package record
