#include "heap/old.h"

#include "heap/record.h"

size_t (*hl_old_usable)(void *p);
size_t hl_old_least = SIZE_MAX;

size_t hl_old_measure(void *p) {
    size_t size = hl_old_usable(p);
    if (size < hl_old_least) return 0;
    struct hl_thread *t = hl_thread_self();
    if (t->inside) t->reallocated = size;
    return size;
}

size_t hl_old_inner(void) {
    struct hl_thread *t = hl_thread_self();
    size_t size = t->reallocated;
    t->reallocated = 0;
    return size;
}

void *hl_old_note(void *q, size_t size, size_t old, const struct hl_freed *freed) {
    size_t recorded = freed->was_live ? freed->size : 0;
    if (old < recorded || old - recorded < hl_old_least) return hl_note(q, size);
    size_t unknown = old - recorded;
    return size > unknown ? hl_note(q, size - unknown) : q;
}
