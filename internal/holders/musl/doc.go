// Package musl finds the blocks that malloc of the C library musl has handed out, in the memory of a process that does
// not run: of versions 1.2.1 to 1.2.5, on 64-bit processors. Older versions have another malloc.
//
// # Layout
//
// The allocator (src/malloc/mallocng in the sources of musl) hands out slots of groups. All slots of a group have one
// size, the stride, which depends on the size class. What is known of a group is not beside its slots, but in a struct
// meta (meta.h):
//
//	 +0  previous, next
//	+16  group, or 0 if the structure is not used
//	+24  avail_mask: slots that can be handed out (32 bits)
//	+28  freed_mask: slots that were freed, or were never used (32 bits)
//	+32  number of slots - 1 (5 bits), freeable (1), size class (6), pages of the mapping or 0 (52)
//
// These structures lie in areas of 4 KiB, which form a list:
//
//	 +0  secret, a random number that all areas begin with
//	 +8  next area
//	+16  number of structures: 101
//	+24  structures
//
// The head of the list and the secret are in struct malloc_context, in the data of the C library: a word that points
// to a page that begins with the word 56 bytes before it (64 where the size of pages is not fixed). That identifies the
// context, without symbols.
//
// A group begins with the address of its struct meta; its slots follow after 16 bytes. It has a mapping of its own,
// or lies in a slot of a larger group, or in what is left of the pages of a module's data ("donated"). A large block
// is the only slot of a group of class 63.
//
// # Slots
//
// The address that malloc returns is at any multiple of 16 in the slot (p). The 8 bytes before it and the last
// 8 bytes of the slot tell where it is and how many bytes were requested. The last 4 bytes of a slot belong to the next
// one:
//
//	p-8  distance from the first slot / 16, if it needs more than 16 bits (32 bits)
//	p-4  1 if it does, else 0
//	p-3  number of the slot (5 bits), and unused bytes of the slot (3 bits), which are at most 4.
//	     5: that number is in the 4 bytes before the last 4 of the slot; 6: the slot has a group
//	p-2  distance from the first slot / 16, or 0 (16 bits)
//
// If p is not the start of the slot, the byte 3 before the start is 0xe0, and the 16 bits behind it are the distance
// of p from there / 16. In a slot that is freed, p-3 is 0xff, and the distance is 0.
//
// # Trust
//
// The memory may be corrupt or hostile. Every loop is bounded by the size of the memory, every address
// is checked, and what does not fit is a problem in the result: then blocks may be missing, and nothing can be said to
// be unreachable. A slot whose words do not fit is a block as a whole: a thread may be changing it.
package musl
