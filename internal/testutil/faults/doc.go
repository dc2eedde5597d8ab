// Package faults runs a program and decides about each of its system calls that touch some
// directories: it passes, it fails, it transfers fewer bytes than asked for, or something happens
// first, such as a change of the file.
//
// The kernel reports the calls to this process (seccomp's user notification). The program is the
// real one, unchanged: faults reach every package and library, also memory that is mapped from
// files, which an interface for files within the program would not do. strace's injection counts
// calls per thread, but goroutines move between threads; it also cannot change a file at a chosen
// call.
package faults
