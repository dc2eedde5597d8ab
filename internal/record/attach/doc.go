// Package attach loads the built-in engine into a process that runs, and takes it out of use again.
//
//	s, err := attach.Start(ctx, options)   // the engine records from now on
//	err = s.Snapshot()                     // makes it write a snapshot
//	summary, err := s.Stop()               // puts everything back
//
// Start first checks whether the process permits it (check.go): a process that may not be touched is
// not stopped at all. Then one thread of the process is stopped at a moment when it holds no lock
// that matters (package moment), and borrowed (package tracer) to create a thread, the helper
// (inject.go). It is stopped for a few milliseconds, and all other threads run on. The helper loads
// the engine; engine/src/attach has its side. From then on the process is not stopped any more:
// commands are words in its memory (control.go).
//
// The engine stays mapped, but no function of the process calls it after Stop. If heaplapse dies, the
// helper notices within 20 s, and stops by itself.
//
// x86-64 with glibc from 2.34 on is supported. Other processes are refused.
package attach
