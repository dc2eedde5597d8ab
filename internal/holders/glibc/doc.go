// Package glibc finds the blocks that malloc of the GNU C library has handed out, in the memory of a
// process that does not run: of versions 2.26 to 2.43, on 64-bit processors.
//
// # Layout
//
// Memory of an arena is divided into chunks without gaps (malloc/malloc.c). The address that malloc
// returns is 16 bytes behind the chunk; a block reaches to where the next one starts:
//
//	chunk+0   size of the chunk before, if that is free
//	chunk+8   size, a multiple of 16; bit 0: the chunk before is in use; bit 2: not in the main arena
//	chunk+16  block
//
// The last chunk of an arena is the top, from which new ones are cut. An arena is a struct malloc_state,
// of which this package uses what is the same in all versions around the address of the top:
//
//	-80    heads of 10 lists of free chunks, the fastbins (before 2.43)
//	  0    top
//	 +16   127 pairs of links: lists of free chunks, which point to themselves if they are empty
//	+2064  next arena, in a ring
//
// The pairs of links identify an arena, without symbols and whatever the version. The memory of the main arena is
// the mapping [heap]. Other arenas have heaps at multiples of 64 MiB, which begin with struct heap_info:
// arena, previous heap, size.
//
// Large blocks have a mapping of their own, which begins with 0 and the size, with bit 1 set.
//
// # Free blocks
//
// A chunk is free if the next one says so, except for those in fastbins and in the caches of threads
// (tcache): these are lists, whose heads are in a chunk of known size. Since 2.32 the links of both kinds of lists are
// combined with their address (PROTECT_PTR).
//
// # Trust
//
// The memory may be corrupt or hostile. Every loop is bounded by the size of the memory, every address
// is checked, and what does not fit is a problem in the result: then blocks may be missing, and nothing can be said to
// be unreachable.
package glibc
