// The stack of the calling thread.
#ifndef HL_UNWIND_THREAD_H
#define HL_UNWIND_THREAD_H

#include "base/memory.h"

// hl_thread_stack_init is called once, before the other function.
void hl_thread_stack_init(void);

// hl_thread_stack returns the part of the calling thread's stack from sp on. It is empty if sp is
// on another stack, such as one of a coroutine.
struct hl_window hl_thread_stack(uintptr_t sp);

#endif
