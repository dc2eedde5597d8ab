// How the tests of the unwinder read a call path.
#include "unwind/stack.h"

// walk stores the call path of its caller, as the engine does.
static void walk_here(struct hl_stack *s, void *to) {
    hl_unwind(s);
    memcpy(to, s, sizeof *s);
}

static __attribute__((noinline)) void walk(struct hl_stack *to) {
    uint64_t signals = hl_signals_block();
    hl_stack_use(walk_here, to);
    hl_signals_restore(signals);
}
