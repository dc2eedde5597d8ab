// Weak definitions of stack.h, for builds without the unwinder: a walk of frame pointers, and no
// names.
#include "stack.h"

#define WEAK __attribute__((weak))

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

WEAK void hl_unwind(struct hl_stack *s, const void *frame) {
    uintptr_t at = (uintptr_t)frame, pair[2];
    s->n = 0;
    s->truncated = false;
    while (s->n < HL_MAX_FRAMES && at % 8 == 0 && hl_read(pair, at, sizeof pair) &&
           pair[1] > 4096) {
        bool own = pair[1] >= (uintptr_t)__ehdr_start && pair[1] < (uintptr_t)_end;
        if (!own) {
            s->pc[s->n] = pair[1];
            s->cfa[s->n++] = at + 2 * sizeof(uintptr_t);
        }
        if (pair[0] <= at) break;
        at = pair[0];
    }
}

WEAK void hl_unwind_init(void) {}
WEAK void hl_python_merge(struct hl_stack *s) { (void)s; }
WEAK void hl_python_poll(void) {}
WEAK bool hl_python_finalizing(void) { return false; }
WEAK bool hl_python_counts_threads(void) { return false; }
WEAK uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                       size_t file_length, uint32_t line) {
    (void)function, (void)function_length, (void)file, (void)file_length, (void)line;
    return 0;
}
WEAK bool hl_names_write(const char *path, uint64_t pid, uint64_t image, int64_t start_ns) {
    (void)path, (void)pid, (void)image, (void)start_ns;
    return true;
}
WEAK void hl_names_lock(void) {}
WEAK void hl_names_unlock(void) {}
WEAK void hl_names_forked(void) {}
