// Package collect collects the snapshots of a recording: while the program runs, and when it has
// ended.
//
//	w, err := collect.Watch(dir)       // before the program starts
//	c := collect.New(options, out)     // out is the manifest
//	go c.Run(w)                        // until Stop
//	…
//	c.Stop()
//	result := c.Finish(exit)   // or Leave, if the process was not started by this one
//
// What happens to a snapshot, in order: watch.go reports that its file was closed. collect.go reads
// it. processes.go decides whether its process is recorded. triggers.go tells what caused it.
// manifest.go writes it down. copies.go copies the maps of generated code of its process. keep.go
// removes surplus snapshots, and compress.go compresses all but the newest.
//
// scope.go and mainprograms.go tell which processes are recorded. request.go requests last snapshots before
// a signal. finish.go ends the recording, and notes.go tells the user what is missing.
//
// All state belongs to one goroutine, that of Run, and after Stop to the caller of Finish or Leave.
// The package works on Linux only.
package collect
