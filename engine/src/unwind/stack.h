// Call paths, and the stacks on which they are read.
#ifndef HL_UNWIND_STACK_H
#define HL_UNWIND_STACK_H

#include "base/memory.h"
#include "unwind/cfi.h"

enum {
    HL_MAX_FRAMES = 512,
    // If a stack has more frames, the innermost ones and so many outermost ones are kept. Stacks
    // that differ only in the depth of a recursion are thereby equal.
    HL_OUTER_FRAMES = 128,
    HL_PAST = 256,
};

// struct hl_stack is a call path. It is large: do not put one on the program's stack.
struct hl_stack {
    uint32_t n;
    uint32_t mark;                // pc[mark] stands for frames that are left out; 0: none are
    bool truncated;               // the outermost frames are missing
    uint32_t generation;          // of hl_tables_generation, to which past and pieces[1] belong
    uintptr_t base;               // frame 0 begins here; frame i at cfa[i-1]
    struct hl_frame from;         // where the walk begins; the walk changes it
    uintptr_t pc[HL_MAX_FRAMES];  // return addresses, leaf first; without the engine's own frames
    uintptr_t cfa[HL_MAX_FRAMES]; // frame i ends at cfa[i], the stack pointer before its call
    uintptr_t scratch[HL_MAX_FRAMES];
    struct hl_pieces pieces[2]; // of stacks other than the thread's own, and of code and tables
    struct hl_past past[HL_PAST][2]; // steps of the last walks, by stack pointer
} __attribute__((aligned(64)));

// hl_stack_use calls f with a buffer for the call path of its caller, on a stack of the engine: the
// program's may be a coroutine's of a few KiB. All signals must be blocked, so that no handler runs
// on it. It returns false, and has not called f, if all buffers are in use for long.
bool hl_stack_use(void (*f)(struct hl_stack *s, void *context), void *context);

// hl_stacks_forked is called in a forked child, in which no thread uses a buffer.
void hl_stacks_forked(void);

// hl_unwind stores the call path of the caller of hl_stack_use, without functions of the engine. It
// waits for no lock and does not allocate.
void hl_unwind(struct hl_stack *s);

// hl_unwind_init is called once, when the engine starts.
void hl_unwind_init(void);

// hl_unwind_forget drops what is known of loaded code.
void hl_unwind_forget(void);

#endif
