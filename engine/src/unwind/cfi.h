// Steps from a frame to its caller by the call frame information in .eh_frame.
#ifndef HL_UNWIND_CFI_H
#define HL_UNWIND_CFI_H

#include "base/memory.h"
#include "unwind/registers.h"

enum hl_step {
    HL_STEPPED,
    HL_OUTERMOST, // the frame has no caller
    HL_UNCOVERED, // the code has no call frame information
    HL_FAILED,    // the information or the stack is damaged
};

// hl_cfi_step replaces the frame by its caller. cfa is set to the stack pointer of the caller if
// the result is HL_STEPPED. The stack is read through the window. If
// that has a piece, there is another one behind it, for the tables.
enum hl_step hl_cfi_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa);

// hl_cfi_forget drops all rules that are kept.
void hl_cfi_forget(void);

#endif
