// State of each thread without a TLS segment: a table whose key is the thread pointer.
//
// A thread pointer is reused when a thread ends and another one starts. The new thread continues
// with the old state, which is harmless: it is a position in a random sequence. Therefore nothing
// needs to be done when a thread ends.
#ifndef HL_HEAP_THREAD_H
#define HL_HEAP_THREAD_H

#include "base/platform.h"

struct hl_thread {
    uintptr_t pointer;  // the key; 0 if the entry is free
    uint64_t left;      // bytes that are allocated before the next sample is taken
    uint64_t random;    // state of the generator; 0 before the first sample
    uint64_t kept_left; // the value of left at hl_enter
    uint32_t unpolled;  // samples and mappings before hl_python_poll is called again
    int32_t id;         // number of the thread, now and then, to find out whether it still lives
    size_t reallocated, became; // see hl_old_inner
    uint32_t number;            // of the next sample; HL_ANY: a new one. See hl_old_note
} __attribute__((aligned(64)));

// Between hl_enter and hl_leave, left is HL_INSIDE minus what the calls within have counted.
#define HL_INSIDE (UINT64_MAX / 4)
static inline bool hl_is_inside(uint64_t left) { return left > HL_INSIDE / 2; }

enum { HL_THREAD_BITS = 12, HL_THREADS = 1 << HL_THREAD_BITS };
extern HL_OWN struct hl_thread hl_threads[HL_THREADS];

static inline struct hl_thread *hl_thread_home(uintptr_t pointer) {
    struct hl_thread *t =
        &hl_threads[(pointer * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - HL_THREAD_BITS)];
    __asm__("" : "+r"(t)); // the address is computed once, not for each use
    return t;
}

// hl_thread_find returns the state of the thread with the given pointer, which is the caller's. If
// the table is full of living threads, it returns an entry that they share, in which no sample is
// due for long.
struct hl_thread *hl_thread_find(uintptr_t pointer);

// hl_thread_self returns the state of the calling thread.
static inline struct hl_thread *hl_thread_self(void) {
    uintptr_t pointer = hl_thread_pointer();
    struct hl_thread *t = hl_thread_home(pointer);
    return hl_likely(t->pointer == pointer) ? t : hl_thread_find(pointer);
}

// hl_threads_restart makes every thread draw the position of its next sample again. It is called
// when a recording has begun: before that, threads look seldom whether one has.
void hl_threads_restart(void);

#endif
