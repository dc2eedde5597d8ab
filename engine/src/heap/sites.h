// The sites: one for each distinct call path, with its sums. All functions are called with
// hl_heap_lock held, but the call path of a site never changes and may be read at any time.
#ifndef HL_HEAP_SITES_H
#define HL_HEAP_SITES_H

#include "unwind/stack.h"

// Sums are estimates. Objects are counted in units of 1 / HL_WEIGHT_ONE.
struct hl_sums {
    int64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
};

struct hl_site {
    uint64_t hash;
    const uintptr_t *frames; // leaf first; constant, except those of HL_SITE_OTHER
    uint32_t n;
    struct hl_sums sums;
} __attribute__((aligned(64)));

// hl_site_of returns the number of the site of a call path. If there is no room for another site,
// it returns HL_SITE_OTHER, whose call path is one synthetic frame, and sets *full.
enum { HL_SITE_OTHER = 0 };
uint32_t hl_site_of(const struct hl_stack *s, bool *full);

// hl_sites_init creates the first site. It returns false if there is no memory.
bool hl_sites_init(void);

// hl_sites_repair makes the index again in a forked child, and sets what is in use to 0. It returns
// false if there is no memory. When that was counted again, hl_sites_sum computes the totals.
bool hl_sites_repair(void);
void hl_sites_sum(void);

// hl_sites_clear removes all sites but the first, whose sums become 0. Nothing may read the call
// path of a site meanwhile.
void hl_sites_clear(void);

uint32_t hl_sites_count(void);
struct hl_site *hl_site(uint32_t number);

// hl_sites_limit is the maximum number of sites.
extern uint32_t hl_sites_limit;

// hl_totals are the sums of all sites.
extern struct hl_sums hl_totals;

// hl_sums_allocated and hl_sums_freed add an allocation to a site and to the totals, and remove it.
void hl_sums_allocated(uint32_t site, int64_t objects, int64_t bytes);
void hl_sums_freed(uint32_t site, int64_t objects, int64_t bytes);

#endif
