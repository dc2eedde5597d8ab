// mmap, mremap and munmap, which the program calls instead of the C library's. A region is removed
// from the table before the kernel can give its addresses to another thread, and added when they
// are known. No lock is held during the system calls, which may take long (MAP_POPULATE).
#include <stdarg.h>

#include "base/config.h"
#include "base/names.h"
#include "base/next.h"
#include "base/problems.h"
#include "heap/hook.h"
#include "heap/libc.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"

enum { MIN_REGION = 64 << 10, MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2, MREMAP_DONTUNMAP = 4 };
#define FAILED ((void *)-1)

static void *real_mmap(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    void *(*f)(void *, size_t, int, int, int, int64_t) =
        (void *(*)(void *, size_t, int, int, int, int64_t))hl_next(HL_NEXT_mmap);
    return f(at, size, protection, flags, fd, offset);
}

static int real_munmap(void *at, size_t size) {
    int (*f)(void *, size_t) = (int (*)(void *, size_t))hl_next(HL_NEXT_munmap);
    return f(at, size);
}

static void *real_mremap(void *at, size_t size, size_t new_size, int flags, void *to) {
    void *(*f)(void *, size_t, size_t, int, ...) =
        (void *(*)(void *, size_t, size_t, int, ...))hl_next(HL_NEXT_mremap);
    return f(at, size, new_size, flags, to);
}

static bool is_on(void) { return hl_is_recording() && hl_config.mmap; }

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

struct mapping {
    uint32_t site; // HL_SITE_OTHER if no call path could be read
    bool full;
};

static void find_site(struct hl_stack *s, void *context) {
    static uintptr_t leaf;
    struct mapping *m = context;
    if (leaf == 0) leaf = hl_name("[mmap]", 6, "", 0, 0, NULL);
    hl_record_stack(s);
    if (s->n == HL_MAX_FRAMES) s->n--;
    memmove(s->pc + 1, s->pc, s->n * sizeof *s->pc);
    s->pc[0] = leaf;
    s->n++;
    hl_lock(&hl_heap_lock);
    m->site = hl_site_of(s, &m->full);
    hl_unlock(&hl_heap_lock);
}

// site_here returns the site of the calling function. Signals must be blocked.
static uint32_t site_here(void) {
    struct mapping m = {.site = HL_SITE_OTHER};
    if (!hl_stack_use(find_site, &m))
        hl_problem("samples-dropped", "too many threads take samples");
    else if (m.full)
        hl_problem("table-full", "no room for more call paths: they are recorded as one");
    return m.site;
}

static void add(void *at, size_t size, uint32_t site) {
    if (!hl_regions_add((uintptr_t)at, whole_pages(size), site))
        hl_problem("regions-dropped", "too many mappings: some are not recorded");
}

static HL_NOINLINE void *map(void *at, size_t size, int protection, int flags, int fd,
                             int64_t offset, bool recorded) {
    void *p = real_mmap(at, size, protection, flags, fd, offset);
    if (p == FAILED) return p;
    uint64_t signals = hl_enter_slow_path();
    uint32_t site = recorded ? site_here() : 0;
    hl_lock(&hl_regions_lock);
    if (flags & HL_MAP_FIXED) hl_regions_remove((uintptr_t)p, whole_pages(size));
    if (recorded) add(p, size, site);
    hl_unlock(&hl_regions_lock);
    // A Python program whose objects are small calls malloc seldom. If it is found now, the region
    // is forgotten: it is an arena of its allocator.
    if (recorded) hl_poll();
    if (recorded) hl_observer.sampled();
    hl_signals_restore(signals);
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

// forget removes a range from the table. It returns the number of bytes, and the site of the first
// region.
static size_t forget(void *at, size_t size, uint32_t *site) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    *site = hl_regions_site((uintptr_t)at);
    size_t removed = hl_regions_remove((uintptr_t)at, whole_pages(size));
    hl_unlock(&hl_regions_lock);
    hl_signals_restore(signals);
    return removed;
}

// remember adds a region, or one that was forgotten for a call that failed. That is rare: the range
// was mapped, so that only the limit of mappings can be the reason.
static void remember(void *at, size_t size, uint32_t site) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    add(at, size, site);
    hl_unlock(&hl_regions_lock);
    hl_signals_restore(signals);
}

// is_range reports whether the kernel would accept a range.
static bool is_range(const void *at, size_t size) {
    return size != 0 && (uintptr_t)at % hl_process.page_size == 0 && (uintptr_t)at + size > size;
}

HL_EXPORT int munmap(void *at, size_t size) {
    if (!is_on() || hl_regions_count() == 0 || !is_range(at, size)) return real_munmap(at, size);
    uint32_t site;
    size_t removed = forget(at, size, &site);
    int result = real_munmap(at, size);
    if (result != 0 && removed > 0) remember(at, removed, site);
    return result;
}

// remap records the new region as an allocation of the calling function, as realloc does.
static HL_NOINLINE void *remap(void *at, size_t size, size_t new_size, int flags, void *to) {
    uint32_t before = 0, ignored;
    size_t removed = flags & MREMAP_DONTUNMAP ? 0 : forget(at, size, &before);
    void *p = real_mremap(at, size, new_size, flags, to);
    if (p == FAILED) {
        if (removed > 0) remember(at, removed, before);
        return p;
    }
    if (flags & MREMAP_FIXED) forget(p, new_size, &ignored);
    uint64_t signals = hl_enter_slow_path();
    uint32_t site = site_here();
    hl_signals_restore(signals);
    if (removed > 0 && new_size >= MIN_REGION) remember(p, new_size, site);
    signals = hl_enter_slow_path();
    hl_observer.sampled();
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
    if (!is_on() || hl_regions_count() == 0 || !is_range(at, size))
        return real_mremap(at, size, new_size, flags, to);
    return remap(at, size, new_size, flags, to);
}

HL_HOOK(mmap);
HL_HOOK(munmap);
HL_HOOK(mremap);
