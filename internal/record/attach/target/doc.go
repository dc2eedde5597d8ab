// Package target reads a process that runs: its memory, its mappings, the ELF objects in its memory,
// and its threads. It reads objects from memory and not from files, because files may have been
// deleted or replaced, and are seen at other paths in another mount namespace.
//
// The process is not stopped and may change at any time. What is read may be inconsistent, and any
// bytes may be found: errors are returned, and every loop has a limit.
package target
