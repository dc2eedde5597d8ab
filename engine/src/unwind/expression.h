// DWARF expressions: DWARF 5, 2.5.
#ifndef HL_UNWIND_EXPRESSION_H
#define HL_UNWIND_EXPRESSION_H

#include "unwind/reader.h"
#include "unwind/registers.h"

// hl_evaluate evaluates an expression with the registers of the frame. If initial is not NULL, its
// value is on the stack at first. It returns false if the expression is invalid, or uses a register
// that is not known or memory that cannot be read.
bool hl_evaluate(struct hl_reader r, const struct hl_frame *f, const uintptr_t *initial,
                 uintptr_t *result);

#endif
