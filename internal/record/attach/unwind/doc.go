// Package unwind returns the call path of a thread of another process, which must be stopped. It
// reads .eh_frame from the memory of the process, and follows frame pointers through code that has
// none, such as generated code. It knows x86-64 only.
//
// The format is that of DWARF 5, section 6.4, with the extensions of the Linux Standard Base, "DWARF
// Extensions".
package unwind
