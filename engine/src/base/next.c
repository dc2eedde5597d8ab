#include "base/next.h"

#include "base/objects.h"

static void *functions[HL_NEXT_COUNT];
static bool found;

// Threads may run it at the same time: they find the same.
void hl_next_find(void) {
#define HL_NEXT_SYMBOL(function) {.name = #function},
    struct hl_symbol s[] = {HL_NEXT_FUNCTIONS(HL_NEXT_SYMBOL)};
    hl_find_following(s, HL_LENGTH(s));
    for (size_t i = 0; i < HL_LENGTH(s); i++)
        __atomic_store_n(&functions[i], s[i].address, __ATOMIC_RELAXED);
    __atomic_store_n(&found, true, __ATOMIC_RELEASE);
}

void *hl_next(enum hl_next which) {
    if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE)) hl_next_find();
    return __atomic_load_n(&functions[which], __ATOMIC_RELAXED);
}

int hl_not_implemented(void) {
    *__errno_location() = HL_ENOSYS;
    return -1;
}
