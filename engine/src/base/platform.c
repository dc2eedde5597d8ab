#include "base/platform.h"

size_t hl_strlen(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

bool hl_equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

bool hl_has_prefix(const char *s, const char *prefix) {
    while (*prefix && *s == *prefix) s++, prefix++;
    return !*prefix;
}

const char *hl_base_name(const char *path) {
    const char *base = path;
    for (const char *s = path; *s; s++)
        if (*s == '/') base = s + 1;
    return base;
}

// The compiler calls the next four functions for copies of structs, so they must exist. The empty
// statements keep it from replacing the loops by calls of themselves.
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
#if defined(__x86_64__)
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
#else
    char *t = to;
    const char *f = from;
    for (; n >= 8; n -= 8, t += 8, f += 8) {
        uint64_t word;
        __builtin_memcpy_inline(&word, f, 8);
        __builtin_memcpy_inline(t, &word, 8);
        __asm__ volatile("" : : : "memory");
    }
    while (n-- > 0) {
        *t++ = *f++;
        __asm__ volatile("");
    }
#endif
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    char *t = to;
    const char *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= n) return memcpy(to, from, n);
    while (n-- > 0) {
        t[n] = f[n];
        __asm__ volatile("");
    }
    return to;
}

void *memset(void *to, int c, size_t n) {
    char *t = to;
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(t), "+c"(n) : "a"(c) : "memory");
#else
    while (n-- > 0) {
        *t++ = (char)c;
        __asm__ volatile("");
    }
#endif
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (; n > 0; n--, x++, y++)
        if (*x != *y) return *x < *y ? -1 : 1;
    return 0;
}

struct hl_pages hl_pages[2048];

// list changes the start of the first pages that start at an address. Those at 0 are unused.
static void list(long start, long to, size_t size) {
    for (struct hl_pages *p = hl_pages; p < hl_pages + HL_LENGTH(hl_pages); p++) {
        long was = start;
        if (!__atomic_compare_exchange_n(&p->start, &was, to, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&p->size, size, __ATOMIC_RELAXED);
        return;
    }
}

void *hl_pages_alloc(size_t size) {
    long p = hl_syscall6(HL_SYS_mmap, 0, (long)size, HL_PROT_READ | HL_PROT_WRITE,
                         HL_MAP_PRIVATE | HL_MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096) return NULL;
    list(0, p, size);
    return (void *)p;
}

void hl_pages_free(void *p, size_t size) {
    list((long)p, 0, 0);
    hl_syscall2(HL_SYS_munmap, p, size);
}

struct iovec {
    void *base;
    size_t length;
};

bool hl_read(void *to, uintptr_t from, size_t n) {
    struct iovec local = {to, n}, remote = {(void *)from, n};
    long pid = hl_syscall0(HL_SYS_getpid);
    return hl_syscall6(HL_SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0) ==
           (long)n;
}

enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

struct timespec {
    long seconds, nanoseconds;
};

void hl_futex_wait(uint32_t *word, uint32_t value, int64_t timeout_ns) {
    struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    hl_syscall4(HL_SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns < 0 ? NULL : &t);
}

void hl_sleep(int64_t ns) {
    uint32_t never = 0;
    hl_futex_wait(&never, 0, ns);
}

void hl_futex_wake(uint32_t *word, int threads) {
    hl_syscall3(HL_SYS_futex, word, FUTEX_WAKE_PRIVATE, threads);
}

bool hl_trylock(struct hl_lock *l) {
    uint32_t unlocked = 0;
    return __atomic_compare_exchange_n(&l->state, &unlocked, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void hl_lock(struct hl_lock *l) {
    for (int i = 0; i < 100; i++) {
        if (__atomic_load_n(&l->state, __ATOMIC_RELAXED) == 0 && hl_trylock(l)) return;
        hl_spin();
    }
    while (__atomic_exchange_n(&l->state, 2, __ATOMIC_ACQUIRE) != 0)
        hl_futex_wait(&l->state, 2, -1);
}

void hl_unlock(struct hl_lock *l) {
    if (__atomic_exchange_n(&l->state, 0, __ATOMIC_RELEASE) == 2) hl_futex_wake(&l->state, 1);
}

enum { SIG_BLOCK = 0, SIG_SETMASK = 2 };

uint64_t hl_signals_block(void) {
    uint64_t all = ~UINT64_C(0), before = 0;
    hl_syscall4(HL_SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    return before;
}

void hl_signals_restore(uint64_t before) {
    hl_syscall4(HL_SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

int64_t hl_clock(enum hl_clock clock) {
    struct timespec t = {0, 0};
    hl_syscall2(HL_SYS_clock_gettime, clock, &t);
    return t.seconds * 1000000000 + t.nanoseconds;
}
