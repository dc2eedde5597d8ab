// The allocation functions that the program calls instead of the C library's. Each calls the real
// one, whose result and errno it does not change.
#include "heap/libc.h"
#include "heap/record.h"

HL_EXPORT void *malloc(size_t size) {
    void *p = hl_real.malloc(size);
    return hl_note(p, size);
}

static HL_COLD void free_slowly(void *p) {
    hl_record_free(p);
    hl_real.free(p);
}

HL_EXPORT void free(void *p) {
    if (hl_unlikely(hl_live_maybe(p))) return free_slowly(p);
    hl_real.free(p);
}

HL_EXPORT void *calloc(size_t n, size_t size) {
    void *p = hl_real.calloc(n, size);
    return hl_note(p, n * size); // the product does not overflow unless p is NULL
}

// was_freed reports whether a realloc that returned q freed its argument. realloc(p, 0) may free p
// and return NULL.
static bool was_freed(const void *q, size_t size) { return q != NULL || size == 0; }

HL_EXPORT void *realloc(void *p, size_t size) {
    // The sample is removed first, because another thread may get the address as soon as it is
    // free.
    struct hl_freed freed = {false, 0, 0};
    if (hl_unlikely(hl_live_maybe(p))) freed = hl_record_realloc(p);
    void *q = hl_real.realloc(p, size);
    if (hl_unlikely(freed.was_live && !was_freed(q, size))) hl_record_unfree(p, &freed);
    return hl_note(q, size);
}

HL_EXPORT void *reallocarray(void *p, size_t n, size_t size) {
    size_t product;
    if (__builtin_mul_overflow(n, size, &product)) return hl_out_of_memory();
    return realloc(p, product);
}

HL_EXPORT int posix_memalign(void **p, size_t alignment, size_t size) {
    int error = hl_real.posix_memalign(p, alignment, size);
    if (error == 0) hl_note(*p, size);
    return error;
}

HL_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    void *p = hl_real.aligned_alloc(alignment, size);
    return hl_note(p, size);
}

HL_EXPORT void *memalign(size_t alignment, size_t size) {
    void *p = hl_real.memalign(alignment, size);
    return hl_note(p, size);
}

HL_EXPORT void *valloc(size_t size) {
    void *p = hl_real.valloc(size);
    return hl_note(p, size);
}

HL_EXPORT void *pvalloc(size_t size) {
    void *p = hl_real.pvalloc ? hl_real.pvalloc(size) : hl_out_of_memory();
    return hl_note(p, size);
}
