// Package graph finds out what holds blocks of memory: it follows pointers from the roots of a process, such as
// global variables and stacks, to the blocks that an allocator has handed out.
//
// # Marking
//
// Build reads the memory of all blocks once. Every aligned word that is the address of a block in use, or of any
// byte of it, is an edge. Mark then follows the edges forward from the roots, breadth first, so that each block
// gets a shortest path. The roots have turns: what the roots of one turn reach, later ones do not change. So a path
// through a global variable is preferred to one through a stack, and that to one through memory of unknown
// content. Roots that are as good as each other, such as global variables and those of main, have the same turn,
// because one stale word in a block leads from some variable to nearly everything, but by a longer way. Within a turn,
// pointers to the start of a block are preferred to those to its interior, and interiors to which roots point to
// others.
//
// The runtime of a language knows its objects and the roots that hold them, and [Content] tells where the objects are.
// These roots come first: each turn reaches objects through objects. What lies behind, such as the memory of a C++
// library, then belongs to the root from which the shortest way leads to it.
//
// No word is dropped. Words that are most likely no pointers, such as the content of a buffer, are
// followed last, in the phase [Doubtful]: what only they reach is neither held for sure nor lost.
// So are the words behind the elements of a std::vector, which has spare memory, and its end, if another block
// begins there.
// A block that no root reaches is lost. There are three kinds of lost blocks: those to which nothing points, those
// to which another lost block leads, and those in a cycle.
//
// If it is known where the objects of a language begin in their blocks, pointers to them are those to the start of
// the block: see [Content].
//
// # Memory
//
// A block is a number. The graph has 14 bytes for it, 4 for each of its edges, and the 2 bits for each 16
// bytes of memory of package blocks.
package graph
