// See blocks.h. The fourth argument may also be "sbrk": the program then moves the end of its heap itself.
#define FOR_ZERO 0
#include "../../blocktest/testdata/blocks.h"

static size_t draw_size(struct thread *t) {
    switch (draw(t, 40)) {
    case 0: return 1 + draw(t, 300000);
    case 1: return 1024 + draw(t, 20000);
    case 2: return 0;
    default: return 1 + draw(t, 400);
    }
}

static size_t draw_alignment(struct thread *t) { return (size_t)32 << draw(t, 9); }

// Leaves lists of all kinds: caches full, fastbins used.
static void finish(struct thread *t) {
    for (int i = 0; i < 40; i++) note(t, malloc(40));
    for (uint64_t i = t->count - 30; i < t->count; i++) release(&t->entries[i]);
}

int main(int argc, char **argv) {
    int moves = argc > 4 && strcmp(argv[4], "sbrk") == 0;
    if (moves) sbrk(100); // before malloc
    run_threads(argc, argv);
    if (moves) sbrk(4096); // behind the heap
    ready();
}
