#include "heap/runtime.h"

static const struct hl_runtime *const none[] = {NULL};
static const struct hl_runtime *const *runtimes = none;

void hl_runtimes_use(const struct hl_runtime *const *all) { runtimes = all; }

#define EACH(r) for (const struct hl_runtime *const *r = runtimes; *r; r++)

uint32_t hl_runtimes_poll(void) {
    uint32_t least = UINT32_MAX;
    EACH(r) {
        uint32_t n = (*r)->poll();
        if (n < least) least = n;
    }
    return least;
}

void hl_runtimes_merge(struct hl_stack *s) { EACH(r)(*r)->merge(s); }

void hl_runtimes_install(void) { EACH(r) if ((*r)->install)(*r)->install(); }

bool hl_runtimes_remove(void) {
    bool removed = true;
    EACH(r) if ((*r)->remove) removed = (*r)->remove() && removed;
    return removed;
}

void hl_runtimes_unloading(void) { EACH(r) if ((*r)->unloading)(*r)->unloading(); }

void hl_runtimes_unloaded(void) { EACH(r) if ((*r)->unloaded)(*r)->unloaded(); }

bool hl_runtimes_are_hooked(void) {
    EACH(r) if ((*r)->is_hooked && (*r)->is_hooked()) return true;
    return false;
}

bool hl_runtimes_finalizing(void) {
    EACH(r) if ((*r)->is_finalizing && (*r)->is_finalizing()) return true;
    return false;
}

bool hl_runtimes_count_threads(void) {
    EACH(r) if ((*r)->counts_threads && (*r)->counts_threads()) return true;
    return false;
}
