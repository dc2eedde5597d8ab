// Package tracer borrows one thread of another process: it stops the thread by ptrace, lets it make
// system calls and call functions, and gives it back as it was. The other threads run on.
//
// The thread survives the death of the tracer at every step. Before the thread runs anything else
// than its own code, a frame like that of a signal handler is on the stack that it uses. It has the
// registers, the vector registers and the signal mask, and what the thread runs returns to the
// system call rt_sigreturn, which restores them. No single step, breakpoint or debug register is
// used, because each leaves a SIGTRAP behind.
//
// All functions must be called in one thread of the operating system: see [runtime.LockOSThread].
package tracer
