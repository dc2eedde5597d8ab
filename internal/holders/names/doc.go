// Package names names the roots of a process: a global variable by its symbol, a stack by the thread and the
// function of the program in which it is.
//
// Symbols are those of the files of the process, as package symbolize finds them. The names contain nothing of
// the content of the memory.
package names
