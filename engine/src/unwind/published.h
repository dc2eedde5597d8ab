// Words that one thread writes while others read them, without locks: a sequence lock. Nobody
// waits. A reader that meets a writer gets nothing, and so does a writer.
#ifndef HL_UNWIND_PUBLISHED_H
#define HL_UNWIND_PUBLISHED_H

#include "base/platform.h"

// hl_published_read copies the words. It returns false if they are being written. The sequence is
// odd then.
static inline bool hl_published_read(const uint32_t *sequence, const uint64_t *words, uint64_t *to,
                                     int n) {
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    if (before & 1) return false;
    for (int i = 0; i < n; i++) to[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(sequence, __ATOMIC_RELAXED) == before;
}

// hl_published_write replaces the words, unless another thread does.
static inline void hl_published_write(uint32_t *sequence, uint64_t *words, const uint64_t *from,
                                      int n) {
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    if (before & 1 || !__atomic_compare_exchange_n(sequence, &before, before + 1, false,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (int i = 0; i < n; i++) __atomic_store_n(&words[i], from[i], __ATOMIC_RELAXED);
    __atomic_store_n(sequence, before + 2, __ATOMIC_RELEASE);
}

#endif
