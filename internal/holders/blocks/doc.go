// Package blocks stores which blocks of memory an allocator has handed out, and finds the block that
// contains an address.
//
// A [Region] has one bit for each 16 bytes that tells where a block starts, and one that tells whether the
// block is free: less than 2 bytes for a block of usual size. Blocks fill a region without gaps. What
// belongs to the allocator itself is a free block.
package blocks
