// Package record runs a program under a preloaded allocator that writes heap snapshots. It stores
// with them what later analysis needs: times, processes, memory sizes, build IDs of mapped files,
// and maps of generated code.
//
//	plan, err := record.Prepare(options)   // finds the program, the engine and its library; changes nothing
//	outcome, err := plan.Run(ctx)          // runs the program and collects its snapshots
//
// # Contract
//
// The program keeps its standard streams, terminal, working directory, process group and
// environment, to which only the variables in Plan.Settings are added. Its exit status is that of
// the [Outcome]. If it cannot be recorded, Prepare, MakeDir or Run returns an error that says why,
// and what helps, before it is started. If the reason is not in the program ([NotRecorded]), the
// caller may run it without recording it. The package works on Linux only.
//
// # Before the run
//
//	options, plan                define and prepare a recording
//	directory                    chooses and makes its directory
//	engine                       is the interface of a profiler; builtin, tcmalloc and jemalloc implement it
//	check                        loads the library into the program
//	adapter                      configures the library that sends the snapshots of tcmalloc and jemalloc
//	runtimes                     makes language runtimes show more
//	limits                       refuses limits under which no engine records
//	describe                     tells the user what will be done
//
// Package engine has the built-in engine and the adapter. Package program examines the program and
// finds libraries. Package preloadfile stores what is preloaded where no other user can replace it.
//
// # During the run
//
//	recording                    begins the manifest
//	run                          starts the program, forwards signals and waits
//	unrecorded                   runs a program that is not recorded
//	attached, sessions           record a process that runs already, and its descendants
//
// Package collect collects the snapshots until the program has ended, and completes the manifest.
// Package written reads what the engine writes, and package proc reads /proc. Package sig finds out
// who sent a signal and which signals are ignored. Package attach loads the engine into a process
// that runs; the rest of such a recording is the same.
package record
