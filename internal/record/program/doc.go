// Package program examines the program to record ([Find]): its file, its interpreter, and whether a
// library can be preloaded into it. It also finds an allocator's library for it ([Search]). It
// works on Linux only.
package program
