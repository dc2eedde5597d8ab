// The live samples: which addresses were sampled and have not been freed.
//
// A free must cost next to nothing if the address was not sampled. Two questions decide that
// without a lock. hl_live_maybe looks at a counter of the live samples in the 256 bytes around the
// address. hl_live_has then searches the table. The other functions are called with hl_heap_lock
// held.
#ifndef HL_HEAP_LIVE_H
#define HL_HEAP_LIVE_H

#include "base/platform.h"

struct hl_live {
    uint64_t size;
    uint32_t site;
    uint32_t number; // of the sample, which another sample at the same address does not have; it is
                     // kept if the block is reallocated
};

// HL_ANY stands for every number.
enum { HL_ANY = 0 };

// The counters. The threads of a program allocate in ranges that are 64 MiB apart or more: the
// upper bits of an address move it to another line of the processor's cache. A counter that has
// reached its maximum stays there: such addresses take the way through the table for ever, and
// nothing is missed.
enum { HL_FILTER_BITS = 19, HL_FILTERED = 256 }; // bytes that have a counter
extern HL_OWN uint8_t hl_filter[1 << HL_FILTER_BITS];

static inline uint32_t hl_filter_index(uintptr_t p) {
    uintptr_t folded = p ^ p >> 7;
    __asm__("" : "+r"(folded)); // one shift less than the compiler would make of it
    return (uint32_t)(folded >> 8) & ((1u << HL_FILTER_BITS) - 1);
}

static inline bool hl_live_maybe(const void *p) {
    const uint8_t *counter = &hl_filter[hl_filter_index((uintptr_t)p)];
#if defined(__x86_64__)
    bool maybe; // the compiler loads an atomic before it compares it
    __asm__ volatile("cmpb $0, %1" : "=@ccne"(maybe) : "m"(*counter));
    return maybe;
#else
    return __atomic_load_n(counter, __ATOMIC_RELAXED) != 0;
#endif
}

// hl_live_has reports whether p is a live sample, and its number, or HL_ANY if others change the
// table. Only the owner of p may ask: the thread that is about to free it. (Nobody else can add p
// then.)
bool hl_live_has(const void *p, uint32_t *number);

// hl_live_add adds a sample, and gives it a number if it has none (HL_ANY). It returns false if
// there is no memory for it. If p is in the table, it was freed, but not removed: *stale is then
// what it was, and *was_stale is set.
bool hl_live_add(const void *p, struct hl_live sample, struct hl_live *stale, bool *was_stale);

// hl_live_remove removes a sample. It returns false if p is none, or has another number.
bool hl_live_remove(const void *p, uint32_t number, struct hl_live *sample);

// hl_live_repair restores the order of the table in a forked child, and calls a function with each
// sample. It returns false if there is no memory.
bool hl_live_repair(void (*visit)(const struct hl_live *sample));

// hl_live_clear removes all samples.
void hl_live_clear(void);

size_t hl_live_count(void);

// hl_live_limit is the maximum number of samples.
extern size_t hl_live_limit;

#endif
