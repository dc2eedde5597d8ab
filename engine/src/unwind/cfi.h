// Steps from a frame to its caller by the call frame information in .eh_frame.
#ifndef HL_UNWIND_CFI_H
#define HL_UNWIND_CFI_H

#include "base/memory.h"
#include "unwind/registers.h"

enum hl_step {
    HL_STEPPED,
    HL_OUTERMOST, // the frame has no caller
    HL_UNCOVERED, // the code has no call frame information
    HL_RESTORER,  // nor has this, which returns from a signal handler
    HL_FAILED,    // the information or the stack is damaged
};

// struct hl_past is a step from a frame to its caller, and where on the stack the caller's
// registers were found. From the same frame the step is the same again if the words on the stack
// are, and if no code was unloaded meanwhile.
struct hl_past {
    uintptr_t pc, sp;        // of the frame; pc is behind the call; 0: no step
    uintptr_t fp, fp_counts; // the frame pointer, and all bits if the step depends on it, or 0
    uintptr_t caller_pc, caller_sp;
    const uintptr_t *pc_at, *fp_at; // fp_at is NULL if the caller has the same frame pointer
} __attribute__((aligned(64)));     // one line of the processor's cache

// hl_cfi_step replaces the frame by its caller. cfa is set to the stack pointer of the caller if
// the result is HL_STEPPED. The stack is read through the window. If that has pieces, there are
// others behind them, for code and tables. past is set to the step.
enum hl_step hl_cfi_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa,
                         struct hl_past *past);

// hl_cfi_is_code reports whether a call may end at pc: its last byte can be read.
bool hl_cfi_is_code(const struct hl_window *stack, uintptr_t pc);

#endif
