#include "heap/libc.h"

#include "base/next.h"
#include "base/objects.h"

uintptr_t hl_allocator_start, hl_allocator_end;

void *hl_out_of_memory(void) {
    *__errno_location() = HL_ENOMEM;
    return NULL;
}

// Threads may run it at the same time: they find the same.
void hl_real_find(void) {
    struct hl_symbol s[] = {
        {.name = "malloc"},   {.name = "free"},           {.name = "calloc"},
        {.name = "realloc"},  {.name = "posix_memalign"}, {.name = "aligned_alloc"},
        {.name = "memalign"}, {.name = "valloc"},         {.name = "pvalloc"}};
    void **to = (void **)&hl_real;
    hl_find_following(s, HL_LENGTH(s));
    for (size_t i = 0; i < HL_LENGTH(s); i++)
        __atomic_store_n(&to[i], s[i].address, __ATOMIC_RELEASE);
    hl_allocator_start = s[0].object.start;
    hl_allocator_end = s[0].object.end;
}

static void *first_malloc(size_t n) { return hl_real_find(), hl_real.malloc(n); }
static void first_free(void *p) { hl_real_find(), hl_real.free(p); }
static void *first_calloc(size_t n, size_t size) { return hl_real_find(), hl_real.calloc(n, size); }
static void *first_realloc(void *p, size_t n) { return hl_real_find(), hl_real.realloc(p, n); }
static int first_posix_memalign(void **p, size_t alignment, size_t n) {
    return hl_real_find(), hl_real.posix_memalign(p, alignment, n);
}
static void *first_aligned_alloc(size_t alignment, size_t n) {
    return hl_real_find(), hl_real.aligned_alloc(alignment, n);
}
static void *first_memalign(size_t alignment, size_t n) {
    return hl_real_find(), hl_real.memalign(alignment, n);
}
static void *first_valloc(size_t n) { return hl_real_find(), hl_real.valloc(n); }
static void *first_pvalloc(size_t n) {
    return hl_real_find(), hl_real.pvalloc ? hl_real.pvalloc(n) : hl_out_of_memory();
}

struct hl_real hl_real = {first_malloc,   first_free,           first_calloc,
                          first_realloc,  first_posix_memalign, first_aligned_alloc,
                          first_memalign, first_valloc,         first_pvalloc};
