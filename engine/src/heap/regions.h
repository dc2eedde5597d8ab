// Regions: anonymous memory that the program maps itself, by mmap and mremap. Each of 64 KiB or
// more is recorded exactly, as an allocation of a call path of its own class, whose leaf is
// "[mmap]".
//
// Memory that an allocator maps for its blocks is not recorded, because the blocks are. The C
// library's allocator does not call mmap through the program's symbols. Another allocator is
// recognized by the address of its code. CPython's calls mmap between hl_enter and hl_leave.
#ifndef HL_HEAP_REGIONS_H
#define HL_HEAP_REGIONS_H

#include "base/platform.h"

// hl_regions_init prepares the table. It returns false if there is no memory.
bool hl_regions_init(void);

// hl_regions_lock protects the table. It is taken before hl_heap_lock.
extern struct hl_lock hl_regions_lock;

// hl_regions_limit is the maximum number of regions.
extern size_t hl_regions_limit;

// hl_regions_forget_arenas forgets the regions of the size of CPython's arenas that the code of an
// object has mapped. It is called when the objects in the arenas begin to be recorded.
void hl_regions_forget_arenas(uintptr_t object_start, uintptr_t object_end);

// The rest is called with the lock held. A region of a site is [start, start + size).
//
// hl_regions_add records a region. It returns false if there is no room.
bool hl_regions_add(uintptr_t start, size_t size, uint32_t site);

// hl_regions_site returns the site of the first region that ends behind an address, or 0.
uint32_t hl_regions_site(uintptr_t address);

// hl_regions_remove forgets what is recorded within a range, which may split a region. It returns
// the number of bytes.
size_t hl_regions_remove(uintptr_t start, size_t size);

// hl_regions_repair restores the order of the table in a forked child, and calls a function with
// what each region counts.
void hl_regions_repair(void (*visit)(uint32_t site, int64_t objects, int64_t bytes));

// hl_regions_clear forgets all regions, without changing the sums of their sites.
void hl_regions_clear(void);

size_t hl_regions_count(void);

#endif
