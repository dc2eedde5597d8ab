// Weak definitions of stack.h, for builds without the frames of interpreters.
#include "stack.h"

#define WEAK __attribute__((weak))

WEAK void hl_python_merge(struct hl_stack *s) { (void)s; }
WEAK void hl_python_poll(void) {}
WEAK bool hl_python_finalizing(void) { return false; }
WEAK bool hl_python_counts_threads(void) { return false; }
