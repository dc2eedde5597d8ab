// Package jemalloc finds the blocks that jemalloc has handed out, in the memory of a process that does not run: of
// versions 5.2 and 5.3, on x86-64. It needs no symbols, and no version: libraries are stripped, and programs in Rust
// have jemalloc in them under other names.
//
// # Extents
//
// Memory consists of extents: whole pages, each of which is described by a structure (edata_t in 5.3, extent_t in 5.2,
// include/jemalloc/internal/edata.h and extent_structs.h):
//
//	 +0   bits: arena (12), slab, 3 flags (5.3: 4), state (2; 5.3: 3), size class (8), free regions (10), others
//	 +8   address: that of the block, if the extent is one large block, which may begin within the first page
//	+16   size in bytes; the last 12 bits are something else
//	 …    bitmap of a slab: a region is free if its bit is set
//
// An extent in use is either one large block, or a slab: an array of regions of one size class. Others are free.
// The position of the bitmap differs. It is where the number of bits is the number of free regions in all slabs.
//
// # Tree
//
// A radix tree has the extents by the numbers of their pages (rtree.h). With 48 bits of address and pages of 4 KiB it
// has two levels. The root, in the data of the module, is an array of addresses of leaves, one for each GiB. A leaf is
// an array of a word for each page:
//
//	bits 48…63  size class
//	bits  6…47  address of the extent, a multiple of 64
//	bits  1…4   first of a mapping, and state (5.3)
//	bit   0     slab
//
// The first and the last page of each extent have an element, and all pages of a slab. The root is found by this: a
// word of the data leads to a leaf whose extents have the addresses that the positions of their elements tell.
//
// # Caches of threads
//
// A thread keeps freed blocks in stacks, one for each size class. The bins that lead to these are in its thread-local
// memory (cache_bin.h). They are recognized by their form, as the stacks lie one behind the other:
//
//	5.3  address of the newest block, number of requests, low 16 bits of: low water, start and end of the stack
//	5.2  low water, number of blocks (32 bits each), number of requests, end of the stack
//
// Caches that a program creates itself (mallctl "tcache.create") are recognized by the same, in blocks.
//
// # The allocator's own memory
//
// Structures are in blocks at multiples of 2 MiB (base.h), which begin with their size and the address of the next one.
//
// # Trust
//
// The memory may be corrupt or hostile. Every loop is bounded by the size of the memory, every address is checked, and
// what does not fit is a problem in the result: then nothing can be said to be unreachable.
package jemalloc
