#include "unwind/row.h"

// Call frame instructions: DWARF 5, 6.4.2. Those of the first three have an operand in their lowest
// six bits.
enum {
    ADVANCE_LOC = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOC = 0x01,
    ADVANCE_LOC1 = 0x02,
    ADVANCE_LOC2 = 0x03,
    ADVANCE_LOC4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    DEF_CFA_SF = 0x12,
    DEF_CFA_OFFSET_SF = 0x13,
    VAL_OFFSET = 0x14,
    VAL_OFFSET_SF = 0x15,
    VAL_EXPRESSION = 0x16,
    NEGATE_RA_STATE = 0x2d, // of AArch64; addresses are always stripped
    ARGS_SIZE = 0x2e,
    NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { MAX_REMEMBERED = 6 };

// struct machine executes instructions.
struct machine {
    const struct hl_fde *fde;
    struct hl_reader r;
    uintptr_t location, pc;
    struct hl_row *row;
    const struct hl_row *initial; // NULL while the CIE is run
    int remembered;
    struct hl_row memory[MAX_REMEMBERED];
};

static int32_t narrow(struct machine *m, int64_t value) {
    if (value != (int32_t)value) m->r.failed = true;
    return (int32_t)value;
}

static int32_t scaled(struct machine *m, int64_t offset) {
    int64_t value;
    if (__builtin_mul_overflow(offset, m->fde->data_align, &value)) m->r.failed = true;
    return m->r.failed ? 0 : narrow(m, value);
}

static int32_t scaled_unsigned(struct machine *m) {
    return scaled(m, (int64_t)hl_read_uleb(&m->r));
}
static int32_t scaled_signed(struct machine *m) { return scaled(m, hl_read_sleb(&m->r)); }

// set changes the rule of a register. Registers that the engine does not follow, such as vector
// registers, are ignored.
static void set(struct machine *m, uint64_t reg, enum hl_how how, int32_t value) {
    if (reg >= HL_REGISTERS) return;
    m->row->how[reg] = (uint8_t)how;
    m->row->value[reg] = value;
}

static void restore(struct machine *m, uint64_t reg) {
    if (reg >= HL_REGISTERS) return;
    bool known = m->initial != NULL;
    set(m, reg, known ? m->initial->how[reg] : HL_UNSPECIFIED, known ? m->initial->value[reg] : 0);
}

static void set_cfa(struct machine *m, uint64_t reg, int32_t offset) {
    if (reg >= HL_REGISTERS) m->r.failed = true;
    m->row->cfa_is_expression = false;
    m->row->cfa_register = (uint8_t)reg;
    m->row->cfa = offset;
}

// skip_expression skips an expression and returns its offset from the FDE.
static int32_t skip_expression(struct machine *m) {
    int32_t offset = narrow(m, (int64_t)(m->r.at - m->fde->address));
    hl_skip(&m->r, hl_read_uleb(&m->r));
    return offset;
}

static void advance(struct machine *m, uint64_t delta) {
    m->location += delta * m->fde->code_align;
}

// set_rule executes an instruction that sets the rule of a register.
static void set_rule(struct machine *m, uint8_t opcode) {
    uint64_t reg = hl_read_uleb(&m->r);
    switch (opcode) {
    case OFFSET_EXTENDED: set(m, reg, HL_AT_CFA, scaled_unsigned(m)); break;
    case OFFSET_EXTENDED_SF: set(m, reg, HL_AT_CFA, scaled_signed(m)); break;
    case NEGATIVE_OFFSET_EXTENDED:
        set(m, reg, HL_AT_CFA, narrow(m, -(int64_t)scaled_unsigned(m)));
        break;
    case VAL_OFFSET: set(m, reg, HL_IS_CFA, scaled_unsigned(m)); break;
    case VAL_OFFSET_SF: set(m, reg, HL_IS_CFA, scaled_signed(m)); break;
    case REGISTER: set(m, reg, HL_IN, narrow(m, (int64_t)hl_read_uleb(&m->r))); break;
    case EXPRESSION: set(m, reg, HL_AT_EXPR, skip_expression(m)); break;
    case VAL_EXPRESSION: set(m, reg, HL_IS_EXPR, skip_expression(m)); break;
    case UNDEFINED: set(m, reg, HL_UNDEFINED, 0); break;
    case SAME_VALUE: set(m, reg, HL_SAME, 0); break;
    case RESTORE_EXTENDED: restore(m, reg); break;
    default: m->r.failed = true;
    }
}

// set_cfa_rule executes an instruction that sets the rule of the CFA. It returns false if the
// opcode is another one.
static bool set_cfa_rule(struct machine *m, uint8_t opcode) {
    struct hl_row *row = m->row;
    uint64_t reg;
    switch (opcode) {
    case DEF_CFA:
        reg = hl_read_uleb(&m->r);
        set_cfa(m, reg, narrow(m, (int64_t)hl_read_uleb(&m->r)));
        return true;
    case DEF_CFA_SF:
        reg = hl_read_uleb(&m->r);
        set_cfa(m, reg, scaled_signed(m));
        return true;
    case DEF_CFA_REGISTER: set_cfa(m, hl_read_uleb(&m->r), row->cfa); return true;
    case DEF_CFA_OFFSET:
        set_cfa(m, row->cfa_register, narrow(m, (int64_t)hl_read_uleb(&m->r)));
        return true;
    case DEF_CFA_OFFSET_SF: set_cfa(m, row->cfa_register, scaled_signed(m)); return true;
    case DEF_CFA_EXPRESSION:
        row->cfa = skip_expression(m);
        row->cfa_is_expression = true;
        return true;
    default: return false;
    }
}

// remember executes REMEMBER_STATE and RESTORE_STATE.
static void remember(struct machine *m, uint8_t opcode) {
    if (opcode == REMEMBER_STATE && m->remembered < MAX_REMEMBERED)
        m->memory[m->remembered++] = *m->row;
    else if (opcode == RESTORE_STATE && m->remembered > 0)
        *m->row = m->memory[--m->remembered];
    else
        m->r.failed = true;
}

// step executes one instruction.
static void step(struct machine *m) {
    enum { OPERAND = 0x3f };
    uint8_t opcode = (uint8_t)hl_read_unsigned(&m->r, 1), operand = opcode & OPERAND;
    switch (opcode & ~OPERAND) {
    case ADVANCE_LOC: advance(m, operand); return;
    case OFFSET: set(m, operand, HL_AT_CFA, scaled_unsigned(m)); return;
    case RESTORE: restore(m, operand); return;
    }
    switch (opcode) {
    case NOP:
    case NEGATE_RA_STATE: break;
    case ARGS_SIZE: hl_read_uleb(&m->r); break;
    case SET_LOC: m->location = hl_read_pointer(&m->r, m->fde->encoding, 0); break;
    case ADVANCE_LOC1: advance(m, hl_read_unsigned(&m->r, 1)); break;
    case ADVANCE_LOC2: advance(m, hl_read_unsigned(&m->r, 2)); break;
    case ADVANCE_LOC4: advance(m, hl_read_unsigned(&m->r, 4)); break;
    case REMEMBER_STATE:
    case RESTORE_STATE: remember(m, opcode); break;
    default:
        if (!set_cfa_rule(m, opcode)) set_rule(m, opcode);
    }
}

// run executes instructions up to those of a location behind pc.
static bool run(struct machine *m, const struct hl_reader *instructions) {
    enum { MAX_INSTRUCTIONS = 100000 };
    m->r = *instructions;
    for (int i = 0; i < MAX_INSTRUCTIONS && !m->r.failed && m->r.at < m->r.end; i++) {
        step(m);
        if (m->location > m->pc) break;
    }
    return !m->r.failed;
}

bool hl_row_find(const struct hl_fde *fde, uintptr_t pc, struct hl_row *row) {
    // The states that are remembered are not cleared: they are written before they are read.
    struct machine m;
    m.fde = fde;
    m.location = fde->start;
    m.pc = pc;
    m.row = row;
    m.initial = NULL;
    m.remembered = 0;
    *row = (struct hl_row){.cfa_register = HL_REG_SP};
    if (!run(&m, &fde->initial)) return false;
    struct hl_row initial = *row;
    m.initial = &initial;
    m.remembered = 0;
    return run(&m, &fde->program);
}

bool hl_row_expression(const struct hl_fde *fde, int32_t offset, struct hl_reader *r) {
    *r = fde->program;
    r->at = fde->address + (uintptr_t)(intptr_t)offset;
    r->end = fde->program.end > fde->initial.end ? fde->program.end : fde->initial.end;
    uint64_t length = hl_read_uleb(r);
    if (r->failed || length > r->end - r->at) return false;
    r->end = r->at + length;
    return true;
}
