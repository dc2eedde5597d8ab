// Rows of the call frame table: how a frame's caller is found from one instruction.
#ifndef HL_UNWIND_ROW_H
#define HL_UNWIND_ROW_H

#include "unwind/fde.h"
#include "unwind/registers.h"

enum hl_how {
    HL_UNSPECIFIED, // the register is unchanged
    HL_SAME,
    HL_UNDEFINED,
    HL_AT_CFA,  // saved at CFA + value
    HL_IS_CFA,  // is CFA + value
    HL_IN,      // is in register number value
    HL_AT_EXPR, // saved at the result of the expression at FDE + value
    HL_IS_EXPR, // is the result of the expression at FDE + value
};

// struct hl_row tells where the registers of the caller are. The CFA (canonical frame address) is
// the stack pointer of the caller at the call.
struct hl_row {
    bool cfa_is_expression;
    uint8_t cfa_register;
    int32_t cfa; // offset from the register, or of the expression from the FDE
    uint8_t how[HL_REGISTERS];
    int32_t value[HL_REGISTERS];
};

// hl_row_find runs the instructions of the FDE up to pc. It returns false if they are damaged.
bool hl_row_find(const struct hl_fde *fde, uintptr_t pc, struct hl_row *row);

// hl_row_expression sets r to the expression at FDE + offset.
bool hl_row_expression(const struct hl_fde *fde, int32_t offset, struct hl_reader *r);

#endif
