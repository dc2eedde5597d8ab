#include "unwind/path.h"

#include "base/names.h"

enum { RING = HL_OUTER_FRAMES + 1, INNER_FRAMES = HL_MAX_FRAMES - RING };

uint32_t hl_path_slot(uint32_t i) {
    return i < HL_MAX_FRAMES ? i : INNER_FRAMES + (i - INNER_FRAMES) % RING;
}

static void reverse(uintptr_t *p, uint32_t n) {
    for (uint32_t i = 0; i < n / 2; i++) {
        uintptr_t word = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = word;
    }
}

uint32_t hl_path_order(uintptr_t *column, uint32_t frames) {
    if (frames <= HL_MAX_FRAMES) return 0;
    uint32_t oldest = (frames - INNER_FRAMES) % RING;
    uintptr_t *ring = column + INNER_FRAMES;
    reverse(ring, oldest);
    reverse(ring + oldest, RING - oldest);
    reverse(ring, RING);
    return INNER_FRAMES;
}

uintptr_t hl_path_mark(const char *text, uintptr_t other) {
    uintptr_t name = hl_name(text, hl_strlen(text), "", 0, 0, NULL);
    return name != 0 ? name : other;
}
