// The platform: system calls, memory, locks, and the few functions of the C library that the engine
// needs.
//
// The engine calls the C library only where it must, because it runs inside malloc, in signal
// handlers and in a thread that the C library does not know. Everything in this file may be called
// by any thread at any time, does not change errno, and does not allocate from the program's heap.
#ifndef HL_BASE_PLATFORM_H
#define HL_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_EXPORT __attribute__((visibility("default")))
// HL_OWN declares a variable that the fast ways read: it is addressed directly. -fvisibility has no
// effect on declarations.
#define HL_OWN __attribute__((visibility("hidden")))
#define HL_NOINLINE __attribute__((noinline))
#define HL_COLD __attribute__((noinline, cold))

// HL_LOCKED puts a variable that is written with hl_heap_lock held next to that lock, so that
// processors exchange as few lines of their caches as possible. HL_ALONE puts a variable at the
// start of a line: one that all threads read often must not be on a line that is written often.
#define HL_LOCKED __attribute__((section("locked")))
#define HL_ALONE __attribute__((aligned(64)))
#define hl_likely(x) __builtin_expect(!!(x), 1)
#define hl_unlikely(x) __builtin_expect(!!(x), 0)
#define HL_LENGTH(array) (sizeof(array) / sizeof *(array))

// hl_syscall makes a system call. It returns -errno on failure.
static inline long hl_syscall6(long nr, long a, long b, long c, long d, long e, long f);
#define hl_syscall0(nr) hl_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define hl_syscall1(nr, a) hl_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define hl_syscall2(nr, a, b) hl_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define hl_syscall3(nr, a, b, c) hl_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define hl_syscall4(nr, a, b, c, d)                                                                \
    hl_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#include "base/syscalls.h" // numbers, and hl_syscall6 of the processor

// hl_thread_pointer returns a number that identifies the thread among those that live.
static inline uintptr_t hl_thread_pointer(void);

// hl_spin tells the processor that the thread waits for another one in a loop.
static inline void hl_spin(void);

// Strings.
size_t hl_strlen(const char *s);
bool hl_equal(const char *a, const char *b);
bool hl_has_prefix(const char *s, const char *prefix);
const char *hl_base_name(const char *path);
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

// Memory from the kernel, zeroed. The size is rounded up to whole pages. hl_pages_alloc returns
// NULL if there is none. hl_pages lists it; what does not fit is not listed.
void *hl_pages_alloc(size_t size);
void hl_pages_free(void *p, size_t size);
extern HL_OWN struct hl_pages {
    long start;
    size_t size;
} hl_pages[2048];

// hl_read copies n bytes from an address that need not be mapped. It returns false if a byte cannot
// be read.
bool hl_read(void *to, uintptr_t from, size_t n);

// A lock. All signals must be blocked while it is held, so that no handler of the same thread waits
// for it.
struct hl_lock {
    uint32_t state; // 0 free, 1 held, 2 held and another thread waits
};
void hl_lock(struct hl_lock *l);
bool hl_trylock(struct hl_lock *l);
void hl_unlock(struct hl_lock *l);

// hl_futex_wait waits until *word changes from value, at most timeout_ns (negative: no limit). It
// may return early.
void hl_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns);
void hl_futex_wake(uint32_t *word, int threads);

// hl_sleep waits for a time in ns. It may return early.
void hl_sleep(int64_t ns);

// hl_signals_block blocks all signals of the calling thread and returns those that were blocked
// before. hl_signals_restore sets the mask again.
uint64_t hl_signals_block(void);
void hl_signals_restore(uint64_t before);

// Clocks, in nanoseconds.
enum hl_clock {
    HL_REALTIME = 0,
    HL_MONOTONIC = 1,
    HL_PROCESS_CPU = 2,
    HL_THREAD_CPU = 3,
    HL_MONOTONIC_COARSE = 6
};
int64_t hl_clock(enum hl_clock clock);

#endif
