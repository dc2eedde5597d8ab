// See blocks.h.
#define FOR_ZERO 1
#include "../../blocktest/testdata/blocks.h"

static size_t draw_size(struct thread *t) {
    switch (draw(t, 40)) {
    case 0: return 1 + draw(t, 300000);
    case 1: return 1024 + draw(t, 20000);
    case 2: return draw(t, 40) ? 0 : 1 + draw(t, 5 << 20);
    case 3: return 16 + 16 * draw(t, 64) + draw(t, 5); // around the ends of slots
    default: return 1 + draw(t, 400);
    }
}

// Up to 4 MiB.
static size_t draw_alignment(struct thread *t) { return (size_t)32 << draw(t, draw(t, 8) ? 9 : 18); }

// Frees nearly all of the first half: most groups have free slots.
static void finish(struct thread *t) {
    for (uint64_t i = 0; i < t->count / 2; i++)
        if (draw(t, 8)) release(&t->entries[i]);
}

int main(int argc, char **argv) {
    run_threads(argc, argv);
    ready();
}
