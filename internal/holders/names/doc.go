// Package names names the roots of a process: a global variable by its symbol, with its type and the line where it
// is defined, and a stack by the function of the program in which its thread is.
//
// Symbols are those of the files of the process, as package symbolize finds them. The names contain nothing of
// the content of the memory.
package names
