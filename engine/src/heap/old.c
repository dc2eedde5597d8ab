#include "heap/old.h"

size_t (*hl_old_usable)(void *p);
size_t hl_old_least = SIZE_MAX;

size_t hl_old_measure(void *p) {
    size_t size = hl_old_usable(p);
    if (size < hl_old_least) return 0;
    struct hl_thread *t = hl_thread_self();
    if (hl_is_inside(t->left)) t->reallocated = size;
    return size;
}

size_t hl_old_inner(void) {
    struct hl_thread *t = hl_thread_self();
    size_t size = t->reallocated;
    t->reallocated = 0;
    return size;
}

// measure_new returns the size of the block as the allocator knows it. A caller above the
// allocator, such as CPython's, may have another address for the block.
static size_t measure_new(void *q) {
    struct hl_thread *t = hl_thread_self();
    bool inside = hl_is_inside(t->left);
    size_t size = t->became && !inside ? t->became : hl_old_usable(q);
    t->became = inside ? size : 0;
    return size;
}

// unknown returns how much of a block of size old was not recorded.
static size_t unknown(size_t old, size_t recorded) {
    return old < recorded || old - recorded < hl_old_least ? 0 : old - recorded;
}

void *hl_old_note(void *q, size_t size, size_t old, const struct hl_live *freed) {
    struct hl_thread *t = hl_thread_self();
    size_t now = q && old != 0 ? measure_new(q) : size, less = unknown(old, freed->size);
    t->number = freed->number;
    if (!q || less == 0)
        hl_note(q, size);
    else if (now > less)
        hl_note(q, now - less);
    t->number = HL_ANY;
    return q;
}
