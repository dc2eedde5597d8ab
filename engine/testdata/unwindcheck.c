// A preloaded library that compares the engine's unwinder with libgcc's, on the stacks of calls of
// malloc. It is built together with the sources of the unwinder. At exit it writes the numbers of
// stacks, of differences, and of stacks that are longer than libgcc's, which ends where there is no
// call frame information, to the file in CHECK_OUTPUT; and an example of a difference.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

#include "walk.h"

extern void *__libc_malloc(size_t);
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static __thread int busy;
static unsigned long seen, stacks, different, longer, every = 1, most = 20000;
static long own_ns, libgcc_ns, frames;
static char example[4000];

struct reference {
    int n;
    uintptr_t pc[20000];
};

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static _Unwind_Reason_Code add(struct _Unwind_Context *c, void *arg) {
    struct reference *r = arg;
    int before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(c, &before);
    if (pc == 0) return _URC_END_OF_STACK;
    if (pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end) return _URC_NO_REASON;
    if (r->n == 20000) return _URC_END_OF_STACK;
    r->pc[r->n++] = before ? pc + 1 : pc;
    return _URC_NO_REASON;
}

static void describe(const struct hl_stack *s, const struct reference *r) {
    size_t at = 0;
    for (int i = 0; i < 60 && at < sizeof example - 200; i++) {
        uintptr_t a = i < (int)s->n ? s->pc[i] : 0, b = i < r->n ? r->pc[i] : 0;
        Dl_info d = {0}, e = {0};
        if (a) dladdr((void *)(a - 1), &d);
        if (b) dladdr((void *)(b - 1), &e);
        at += (size_t)snprintf(example + at, sizeof example - at, "%s %#lx %s+%#lx | %#lx %s\n",
                               a == b ? " " : "*", a, d.dli_fname ? d.dli_fname : "",
                               a - (uintptr_t)d.dli_fbase, b, e.dli_sname ? e.dli_sname : "");
        if (!a && !b) break;
    }
}

// same reports whether the stack is libgcc's, or begins with it.
static bool same(const struct hl_stack *s, const struct reference *r) {
    if (s->truncated) return false;
    if (s->mark != 0) {
        uint32_t outer = s->n - s->mark - 1;
        return r->n > HL_MAX_FRAMES && memcmp(s->pc, r->pc, s->mark * sizeof *r->pc) == 0 &&
               memcmp(s->pc + s->mark + 1, r->pc + r->n - outer, outer * sizeof *r->pc) == 0;
    }
    return (int)s->n >= r->n && memcmp(s->pc, r->pc, (size_t)r->n * sizeof *r->pc) == 0;
}

static __attribute__((noinline)) void check(void) {
    static struct hl_stack s;
    static struct reference r;
    static int lock;
    if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) return;
    long t0 = now();
    r.n = 0;
    _Unwind_Backtrace(add, &r);
    long t1 = now();
    walk(&s);
    long t2 = now();
    libgcc_ns += t1 - t0;
    own_ns += t2 - t1;
    frames += s.n;
    stacks++;
    if (!same(&s, &r)) {
        if (different++ == 0) describe(&s, &r);
    } else if ((int)s.n > r.n && s.mark == 0) {
        longer++;
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) void *malloc(size_t n) {
    if (!busy && every != 0 && ++seen % every == 0 && stacks < most) {
        busy = 1;
        check();
        busy = 0;
    }
    return __libc_malloc(n);
}

__attribute__((visibility("default"))) int dlclose(void *handle) {
    static int (*original)(void *);
    if (original == NULL) *(void **)&original = dlsym(RTLD_NEXT, "dlclose");
    int result = original(handle);
    hl_unwind_forget();
    return result;
}

__attribute__((constructor)) static void start(void) {
    hl_unwind_init();
    const char *e = getenv("CHECK_EVERY"), *m = getenv("CHECK_STACKS");
    if (m) most = strtoul(m, 0, 10);
    every = e ? strtoul(e, 0, 10) : 1;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("CHECK_OUTPUT");
    FILE *f = path ? fopen(path, "w") : 0;
    if (!f) return;
    fprintf(
        f, "%lu stacks %lu frames %lu different %lu longer; own %lu ns libgcc %lu ns per stack\n%s",
        stacks, frames, different, longer, stacks ? own_ns / stacks : 0,
        stacks ? libgcc_ns / stacks : 0, example);
    fclose(f);
}
