#include "base/next.h"

#include "base/objects.h"

void *hl_real_function(void **cache, const char *name) {
    void *f = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (f) return f;
    struct hl_symbol s = {.name = name};
    hl_find_following(&s, 1);
    __atomic_store_n(cache, s.address, __ATOMIC_RELEASE);
    return s.address;
}

int hl_not_implemented(void) {
    *__errno_location() = HL_ENOSYS;
    return -1;
}
