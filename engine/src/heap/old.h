// Blocks from before the engine was loaded into a running process. The engine does not know them:
// when they are freed, nothing happens. When one of them grows, only what is added is recorded.
//
// A large block that is not sampled is such a block, because a block of 16 periods that is
// allocated under the engine is sampled with a probability of 1 - exp(-16).
#ifndef HL_HEAP_OLD_H
#define HL_HEAP_OLD_H

#include "heap/record.h"

// hl_old_usable returns the size of a block of the allocator. It is NULL if there are no blocks
// from before, or if the allocator has no such function.
extern size_t (*hl_old_usable)(void *p);

// hl_old_least is the smallest size of a block that is recognized.
extern size_t hl_old_least;

// hl_old_measure returns the size of a large block of the allocator, and keeps it for
// hl_old_inner. It returns 0 for a small block.
HL_COLD size_t hl_old_measure(void *p);

// hl_old_size is called before a realloc of p to the given size. It returns the size of p if it may
// be a block from before that matters, or 0.
static inline size_t hl_old_size(void *p, size_t size) {
    if (hl_likely(size < hl_old_least || hl_old_usable == NULL || p == NULL)) return 0;
    return hl_old_measure(p);
}

// hl_old_inner returns the size of the block that the calling thread has reallocated last in the
// allocator below CPython's, if it was large, and forgets it.
size_t hl_old_inner(void);

// hl_old_note is hl_note for the result of a realloc of a block of size old, 0 if that is not
// known. freed is what was recorded of the block: a sample of the result keeps its number.
HL_COLD void *hl_old_note(void *q, size_t size, size_t old, const struct hl_live *freed);

#endif
