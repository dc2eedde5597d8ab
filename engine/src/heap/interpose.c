// The allocation functions that the program calls instead of the C library's. Each calls the real
// one, whose result and errno it does not change.
#include "base/objects.h"
#include "heap/hook.h"
#include "heap/libc.h"
#include "heap/old.h"
#include "heap/record.h"

static HL_COLD void *malloc_slowly(size_t size, struct hl_thread *t) {
    return hl_note_slow(hl_real.malloc(size), size, t);
}

// malloc counts the bytes before it calls the real one, so that the call is a jump. If it fails,
// the next sample is taken a little earlier.
HL_EXPORT void *malloc(size_t size) {
    uintptr_t pointer = hl_thread_pointer();
    struct hl_thread *t = hl_thread_home(pointer);
    if (hl_unlikely(t->pointer != pointer || !hl_count(t, size))) return malloc_slowly(size, t);
    return hl_real.malloc(size);
}

// A program that was attached to may have kept the address of free. What it frees by that is not
// seen, until the memory is used again: no sample can begin in a block that has just been
// allocated.
enum { ALIGNMENT = 16, MOST_FORGOTTEN = 1 << 20 };

static HL_COLD void forget_from(uintptr_t from, uintptr_t end) {
    for (uintptr_t at = from; at < end; at += ALIGNMENT) hl_record_free((void *)at);
}

static void forget_in(uintptr_t p, size_t size) {
    uintptr_t end = p + (size < MOST_FORGOTTEN ? size : MOST_FORGOTTEN);
    for (uintptr_t next; p < end; p = next) {
        next = (p | (HL_FILTERED - 1)) + 1;
        if (hl_unlikely(hl_live_maybe((void *)p))) forget_from(p, next < end ? next : end);
    }
}

// fresh forgets what was live in a block that has just been allocated, and returns it. The block
// may be NULL.
static inline void *fresh(void *p, size_t size) {
    if (hl_unlikely(hl_loaded_late) && p) forget_in((uintptr_t)p, size);
    return p;
}

// Only recordings that begin while the program runs call malloc by this name.
void *hl_hook_malloc(size_t size) { return hl_note(fresh(hl_real.malloc(size), size), size); }

static HL_COLD void free_slowly(void *p) {
    hl_record_free(p);
    hl_real.free(p);
}

HL_EXPORT void free(void *p) {
    if (hl_unlikely(hl_live_maybe(p))) return free_slowly(p);
    hl_real.free(p);
}

HL_EXPORT void *calloc(size_t n, size_t size) {
    void *p = fresh(hl_real.calloc(n, size), n * size);
    return hl_note(p, n * size); // the product does not overflow unless p is NULL
}

// was_freed reports whether a realloc that returned q freed its argument. realloc(p, 0) may free p
// and return NULL.
static bool was_freed(const void *q, size_t size) { return q != NULL || size == 0; }

HL_EXPORT void *realloc(void *p, size_t size) {
    // The sample is removed first, because another thread may get the address as soon as it is
    // free.
    struct hl_live freed = {0, 0, HL_ANY};
    size_t old = hl_old_size(p, size);
    if (hl_unlikely(hl_live_maybe(p))) freed = hl_record_realloc(p);
    void *q = fresh(hl_real.realloc(p, size), size);
    if (hl_likely(old == 0 && freed.number == HL_ANY)) return hl_note(q, size);
    if (freed.number != HL_ANY && !was_freed(q, size)) hl_record_unfree(p, &freed);
    return hl_old_note(q, size, old, &freed);
}
HL_HOOK(realloc);

HL_EXPORT void *reallocarray(void *p, size_t n, size_t size) {
    size_t product;
    if (__builtin_mul_overflow(n, size, &product)) return hl_out_of_memory();
    return hl_hook_realloc(p, product);
}

// The remaining functions are rare, and some C libraries implement one of them by another, which is
// then called through this file. Such an inner call must not be recorded: INNER evaluates a call
// between hl_enter and hl_leave.
#define INNER(call)                                                                                \
    ({                                                                                             \
        bool outermost = hl_enter();                                                               \
        __typeof__(call) result = (call);                                                          \
        if (outermost) hl_leave();                                                                 \
        result;                                                                                    \
    })

HL_EXPORT int posix_memalign(void **p, size_t alignment, size_t size) {
    int error = INNER(hl_real.posix_memalign(p, alignment, size));
    if (error == 0) hl_note(fresh(*p, size), size);
    return error;
}

HL_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return hl_note(fresh(INNER(hl_real.aligned_alloc(alignment, size)), size), size);
}

HL_EXPORT void *memalign(size_t alignment, size_t size) {
    return hl_note(fresh(INNER(hl_real.memalign(alignment, size)), size), size);
}

HL_EXPORT void *valloc(size_t size) { return hl_note(INNER(hl_real.valloc(size)), size); }

HL_EXPORT void *pvalloc(size_t size) {
    if (!hl_real.pvalloc) return hl_out_of_memory();
    return hl_note(INNER(hl_real.pvalloc(size)), size);
}

// calloc and realloc are frequent. hl_interpose_init finds out whether they call malloc.
static void *(*plain_calloc)(size_t, size_t);
static void *(*plain_realloc)(void *, size_t);
static void *inner_calloc(size_t n, size_t size) { return INNER(plain_calloc(n, size)); }
static void *inner_realloc(void *p, size_t size) { return INNER(plain_realloc(p, size)); }

// has_called reports whether an allocation was noted since the call of hl_enter.
static bool has_called(uint64_t left) { return hl_thread_self()->left != left; }

HL_HOOK(free);
HL_HOOK(calloc);
HL_HOOK(reallocarray);
HL_HOOK(posix_memalign);
HL_HOOK(aligned_alloc);
HL_HOOK(memalign);
HL_HOOK(valloc);
HL_HOOK(pvalloc);

void hl_interpose_init(void) {
    if (!hl_enter()) return;
    uint64_t left = hl_thread_self()->left;
    hl_real.free(hl_real.calloc(1, 1));
    bool calloc_calls = has_called(left);
    hl_thread_self()->left = left;
    hl_real.free(hl_real.realloc(NULL, 1));
    bool realloc_calls = has_called(left);
    hl_leave();
    plain_calloc = hl_real.calloc;
    plain_realloc = hl_real.realloc;
    if (calloc_calls) hl_real.calloc = inner_calloc;
    if (realloc_calls) hl_real.realloc = inner_realloc;
}
