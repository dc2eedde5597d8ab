// Walks a stack of two dozen frames again and again, wherever it begins in a page. It is built
// together with the sources of the unwinder. It prints the least and the largest number of steps
// for which a walk needed the tables, though the same was walked just before.
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#include "walk.h"

static unsigned long steps;

enum hl_step __real_hl_cfi_step(struct hl_window *, struct hl_frame *, uintptr_t *,
                                struct hl_past *);
enum hl_step __wrap_hl_cfi_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa,
                                struct hl_past *past) {
    steps++;
    return __real_hl_cfi_step(stack, f, cfa, past);
}

static unsigned long least = -1, most;

static __attribute__((noinline)) void at_depth(int depth) {
    static struct hl_stack s;
    if (depth > 0) {
        at_depth(depth - 1);
        __asm__ volatile(""); // no tail call
        return;
    }
    for (int i = 0; i < 3; i++) { // the tables are found during the first walk of all
        steps = 0;
        walk(&s);
    }
    if (steps < least) least = steps;
    if (steps > most) most = steps;
}

static __attribute__((noinline)) void from(size_t below) {
    volatile char *room = alloca(below + 1);
    room[below] = 0;
    at_depth(20);
    room[0] = 0;
}

int main(void) {
    hl_unwind_init();
    for (size_t below = 0; below < 4096; below += 16) from(below);
    printf("%lu %lu\n", least, most);
    return 0;
}
