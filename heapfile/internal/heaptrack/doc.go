// Package heaptrack reads the recordings of KDE's heaptrack: all allocations and frees of a program
// in one file. It replays them once, and keeps the state of the heap at evenly spaced times.
//
// A recording is lines of text. The first letter of a line is its kind; numbers are hexadecimal.
//
//	v VERSION [FORMAT]   version of heaptrack, and of the format: 0 to 3
//	X COMMAND            the command line
//	I PAGESIZE PAGES     the machine
//	s [LENGTH] TEXT      the next string, from 1; with its length from format 3
//	i ADDRESS MODULE [FUNCTION FILE LINE]…   the next call, from 1; inlined functions first
//	t CALL PARENT        the next stack, from 1: a call, and the stack of its caller
//	a SIZE STACK         the next kind of allocation, from 0
//	+ KIND, - KIND       an allocation, a free
//	c TIME               milliseconds since the start
//	R PAGES              resident set size
//
// In format 0 and in raw recordings (heaptrack --raw), which contain addresses instead of names,
// some lines differ:
//
//	x [LENGTH] PROGRAM
//	m [LENGTH] MODULE BASE [ADDRESS SIZE]…   a loaded module, and its segments; "-" unloads all
//	t ADDRESS PARENT     raw only
//	+ SIZE STACK POINTER
//	- POINTER
//
// See accumulatedtracedata.cpp, heaptrack_interpret.cpp and libheaptrack.cpp of heaptrack.
package heaptrack
