// mmap, mremap and munmap, which the program calls instead of the C library's. The lock is held
// during the system call, so that the table has the order of the calls of all threads.
#include <stdarg.h>

#include "heap/hook.h"
#include "heap/libc.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/trigger.h"
#include "process/config.h"
#include "process/fork.h"

enum { MIN_REGION = 64 << 10, MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2, MREMAP_DONTUNMAP = 4 };
#define FAILED ((void *)-1)

static void *next_mmap, *next_munmap, *next_mremap;

static void *real_mmap(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    void *(*f)(void *, size_t, int, int, int, int64_t) =
        (void *(*)(void *, size_t, int, int, int, int64_t))hl_real_function(&next_mmap, "mmap");
    return f(at, size, protection, flags, fd, offset);
}

static int real_munmap(void *at, size_t size) {
    int (*f)(void *, size_t) = (int (*)(void *, size_t))hl_real_function(&next_munmap, "munmap");
    return f(at, size);
}

static void *real_mremap(void *at, size_t size, size_t new_size, int flags, void *to) {
    void *(*f)(void *, size_t, size_t, int, ...) =
        (void *(*)(void *, size_t, size_t, int, ...))hl_real_function(&next_mremap, "mremap");
    return f(at, size, new_size, flags, to);
}

static bool is_on(void) {
    return __atomic_load_n(&hl_recording, __ATOMIC_RELAXED) && hl_config.mmap;
}

static size_t whole_pages(size_t size) {
    return (size + hl_process.page_size - 1) & ~(hl_process.page_size - 1);
}

// is_recorded reports whether a new mapping is recorded. Memory that cannot be accessed is reserved
// but not used.
static bool is_recorded(size_t size, int protection, int flags, uintptr_t caller) {
    if (size < MIN_REGION || !(flags & HL_MAP_ANONYMOUS) ||
        !(protection & (HL_PROT_READ | HL_PROT_WRITE)))
        return false;
    bool by_allocator = caller >= hl_allocator_start && caller < hl_allocator_end;
    return !by_allocator && !hl_is_inside(hl_thread_self()->left);
}

// site_here returns the site of the calling function. Signals must be blocked.
static uint32_t site_here(const void *frame) {
    static uintptr_t leaf;
    if (leaf == 0) leaf = hl_name("[mmap]", 6, "", 0, 0);
    struct hl_stack *s = hl_stack_take();
    hl_unwind(s, frame);
    hl_python_merge(s);
    if (s->n == HL_MAX_FRAMES) s->n--;
    memmove(s->pc + 1, s->pc, s->n * sizeof *s->pc);
    s->pc[0] = leaf;
    s->n++;
    bool full;
    hl_lock(&hl_heap_lock);
    uint32_t site = hl_site_of(s, &full);
    hl_unlock(&hl_heap_lock);
    hl_stack_return(s);
    if (full) hl_problem("table-full", "no room for more call paths: they are recorded as one");
    return site;
}

static void add(void *at, size_t size, uint32_t site) {
    if (!hl_regions_add((uintptr_t)at, whole_pages(size), site))
        hl_problem("regions-dropped", "too many mappings: some are not recorded");
}

static HL_NOINLINE void *map(void *at, size_t size, int protection, int flags, int fd,
                             int64_t offset, bool recorded) {
    uint64_t signals = hl_enter_slow_path();
    uint32_t site = recorded ? site_here(__builtin_frame_address(0)) : 0;
    hl_lock(&hl_regions_lock);
    void *p = real_mmap(at, size, protection, flags, fd, offset);
    if (p != FAILED && (flags & HL_MAP_FIXED)) hl_regions_remove((uintptr_t)p, whole_pages(size));
    if (p != FAILED && recorded) add(p, size, site);
    hl_unlock(&hl_regions_lock);
    if (recorded) hl_trigger_check();
    hl_signals_restore(signals);
    // A Python program whose objects are small calls malloc seldom. If it is found now, the region
    // is forgotten: it is an arena of its allocator.
    if (recorded) hl_poll(hl_thread_self());
    return p;
}

HL_EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool recorded = is_on() && is_recorded(size, protection, flags, caller);
    bool replaces = is_on() && (flags & HL_MAP_FIXED) && hl_regions_count() > 0;
    if (!recorded && !replaces) return real_mmap(at, size, protection, flags, fd, offset);
    return map(at, size, protection, flags, fd, offset, recorded);
}

HL_EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset)
    __attribute__((alias("mmap")));

HL_EXPORT int munmap(void *at, size_t size) {
    if (!is_on() || hl_regions_count() == 0) return real_munmap(at, size);
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    int result = real_munmap(at, size);
    if (result == 0) hl_regions_remove((uintptr_t)at, whole_pages(size));
    hl_unlock(&hl_regions_lock);
    hl_signals_restore(signals);
    return result;
}

// remap records the new region as an allocation of the calling function, as realloc does.
static HL_NOINLINE void *remap(void *at, size_t size, size_t new_size, int flags, void *to) {
    uint64_t signals = hl_enter_slow_path();
    uint32_t site = site_here(__builtin_frame_address(0));
    hl_lock(&hl_regions_lock);
    void *p = real_mremap(at, size, new_size, flags, to);
    if (p != FAILED) {
        size_t removed =
            flags & MREMAP_DONTUNMAP ? 0 : hl_regions_remove((uintptr_t)at, whole_pages(size));
        if (flags & MREMAP_FIXED) hl_regions_remove((uintptr_t)p, whole_pages(new_size));
        if (removed > 0 && new_size >= MIN_REGION) add(p, new_size, site);
    }
    hl_unlock(&hl_regions_lock);
    hl_trigger_check();
    hl_signals_restore(signals);
    return p;
}

HL_EXPORT void *mremap(void *at, size_t size, size_t new_size, int flags, ...) {
    void *to = NULL;
    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_list arguments;
        va_start(arguments, flags);
        to = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (!is_on() || hl_regions_count() == 0) return real_mremap(at, size, new_size, flags, to);
    return remap(at, size, new_size, flags, to);
}

HL_HOOK(mmap);
HL_HOOK(munmap);
HL_HOOK(mremap);
