// Package samples reads what heaplapse's engine has recorded from the memory of a process: which blocks of memory it
// has sampled and that have not been freed, the call paths that requested them, and which memory is the engine's own.
//
// The engine exports two tables of addresses (engine/src/heap/live.c and sites.c):
//
//	heaplapse_live   +0   of a pointer to the table of live samples: {places, number of places - 1}
//	                 +8   of the number of the newest sample (32 bits)
//	                 +16  of the list of its memory: {start, size}
//	                 +24  of the end of that list
//	heaplapse_sites  +0   of an array of pointers to 512 sites each
//	                 +8   of the number of sites (32 bits)
//
// A place has 24 bytes: {address, size, site (32 bits), number (32 bits)}; the address 0 stands for none. A site has
// 64 bytes: {hash, address of the frames, number of frames (32 bits), …}. Frames have 8 bytes, the leaf first.
package samples
