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
// # Contract
//
// Each snapshot of a recorded process gets a line in the manifest. Lines are only added: what is
// learned of a snapshot later, also that it was removed, is a further line. Snapshots of other
// processes, and those above the limits of [Options], are removed. [Result] has what the user must
// know, as text; nothing is printed.
//
// All state belongs to one goroutine, that of Run, and after Stop to the caller of Finish or Leave.
// The package works on Linux only.
//
// # Steps
//
// What happens to a snapshot, in order, each step in a file of its own:
//
//	watch       reports that its file was closed
//	collect     reads it
//	processes   decides whether its process is recorded: scope and mainprograms tell which are
//	triggers    tells what caused it
//	manifest    writes it down
//	copies      copies the maps of generated code of its process
//	keep        removes surplus snapshots
//	compress    compresses all but the newest
//
// At the end, request asks for last snapshots before a signal, finish ends the recording, and notes
// tells the user what is missing.
package collect
