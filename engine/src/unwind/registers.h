// The registers of a frame, by their DWARF numbers.
#ifndef HL_UNWIND_REGISTERS_H
#define HL_UNWIND_REGISTERS_H

#include "base/platform.h"

#if defined(__x86_64__)
enum { HL_REGISTERS = 17, HL_REG_FP = 6, HL_REG_SP = 7, HL_REG_RA = 16 };
#elif defined(__aarch64__)
enum { HL_REGISTERS = 32, HL_REG_FP = 29, HL_REG_SP = 31, HL_REG_RA = 30 };
#endif

// struct hl_frame is a frame that is being unwound.
struct hl_frame {
    uintptr_t pc;
    bool interrupted; // pc is the next instruction; else it is a return address, behind a call
    uint32_t known;   // bit i: reg[i] is known
    uintptr_t reg[HL_REGISTERS];
};

static inline void hl_set_register(struct hl_frame *f, unsigned i, uintptr_t value) {
    f->reg[i] = value;
    f->known |= UINT32_C(1) << i;
}

static inline bool hl_register(const struct hl_frame *f, uint64_t i, uintptr_t *value) {
    if (i >= HL_REGISTERS || !(f->known >> i & 1)) return false;
    *value = f->reg[i];
    return true;
}

// hl_code_address returns a code address without the bits that authenticate it.
static inline uintptr_t hl_code_address(uintptr_t pc) {
#if defined(__aarch64__)
    register uintptr_t lr __asm__("x30") = pc;
    __asm__("hint #7" : "+r"(lr)); // xpaclri; processors without it ignore it
    return lr;
#else
    return pc;
#endif
}

#endif
