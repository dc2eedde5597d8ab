// How the tests of the unwinder read a call path. It is included once: it has what the unwinder
// needs of the rest of the engine.
#include "base/names.h"
#include "unwind/stack.h"

// hl_name names the frames that are left out. All are the same here.
uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line, const char *language) {
    (void)function, (void)function_length, (void)file, (void)file_length, (void)line;
    (void)language;
    return 1;
}

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
