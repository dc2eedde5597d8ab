// Package channel receives what the engines record, and writes all of their files. The engines,
// which run in other people's processes, write none: neither a disk that stops nor a link that
// somebody has planted can do anything to them.
//
// Each process image shares a piece of memory with the recorder. A process that was started
// connects to a socket and gets the memory. A process to which heaplapse attaches makes the memory
// itself.
//
// What comes out of the memory is not trusted: the process may run as another user by then. All
// names are made here, and a process can spoil no recording but its own.
package channel
