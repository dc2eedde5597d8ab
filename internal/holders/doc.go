// Package holders tells what holds the blocks of memory of a process that runs: which global variable, stack or
// other place a pointer to them comes from, over which blocks, or that they are lost.
//
// The work is done by packages that do not know each other:
//
//	snapshot   freezes the memory by a forked child, and reads the registers
//	glibc      finds the blocks of malloc
//	musl       finds those of musl's malloc
//	jemalloc   finds the blocks of jemalloc
//	pymalloc   finds the blocks of CPython
//	python     finds the objects in them, and names them
//	blocks     stores them
//	roots      lists the memory from which the program reaches blocks
//	graph      follows the pointers
//	names      names the roots
package holders
