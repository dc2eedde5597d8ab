// Package pymalloc finds the blocks that CPython's allocator for small objects has handed out (3.8 to 3.14, with
// the global interpreter lock), in the memory of a process that does not run.
//
// The allocator divides its memory into pools of 4 KiB, from 3.10 on 16 KiB, which lie at multiples of
// their size. All blocks of a pool have one size (Objects/obmalloc.c):
//
//	+0   number of blocks in use (32 bits)
//	+8   first free block; each free block begins with the address of the next one
//	+36  size class: size / 16 - 1 (32 bits)
//	+40  offset of the first block that was never used (32 bits)
//	+44  the largest offset at which a block fits: size of the pool - size of a block (32 bits)
//	+48  blocks
//
// Pools are recognized by that: no symbols and no version are needed. The number of free blocks must be what
// the other numbers say. It may differ by one, because a thread may be stopped while it takes or
// returns a block; then the list of free blocks decides.
//
// A pool that is not recognized is memory of unknown content, which is the safe side: its words count as
// pointers. Free-threaded builds have another allocator, and no pools.
package pymalloc
