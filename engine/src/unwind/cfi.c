#include "unwind/cfi.h"

#include "unwind/expression.h"
#include "unwind/published.h"
#include "unwind/row.h"

// struct rule is a row of the call frame table that needs no registers but the stack and the frame
// pointer. Nearly all rows are of this kind. Finding a row takes a microsecond or more, so that
// rules are kept, by address.
struct rule {
    uint8_t kind;
    uint8_t cfa_register; // HL_REG_SP or HL_REG_FP
    uint8_t flags;
    int32_t cfa;    // offset from the register
    int16_t fp, ra; // where the registers are saved: offsets from the CFA
};

enum kind { SIMPLE, OUTERMOST, UNCOVERED, RESTORER, NOWHERE, DAMAGED, COMPLEX };
enum flag {
    CFA_IN_MEMORY = 1, // the CFA is the word at the register plus offset
    FP_SAVED = 2,
    FP_AT_FP = 4, // fp is an offset from the frame pointer, not from the CFA
};

// --- rules ---

// simple_expression recognizes the expression "a register plus offset", and with deref the word at
// that address. Functions with aligned locals have it.
static bool simple_expression(const struct hl_fde *fde, int32_t at, bool deref, unsigned *reg,
                              int32_t *offset) {
    enum { BREG0 = 0x70, BREG31 = 0x8f, DEREF = 0x06 };
    struct hl_reader r;
    if (!hl_row_expression(fde, at, &r)) return false;
    uint64_t op = hl_read_unsigned(&r, 1);
    int64_t value = hl_read_sleb(&r);
    bool ok = op >= BREG0 && op <= BREG31 && value == (int32_t)value &&
              (!deref || hl_read_unsigned(&r, 1) == DEREF);
    *reg = (unsigned)op - BREG0;
    *offset = (int32_t)value;
    return ok && !r.failed && r.at == r.end;
}

static bool cfa_rule(const struct hl_fde *fde, const struct hl_row *row, struct rule *rule) {
    unsigned reg = row->cfa_register;
    rule->cfa = row->cfa;
    if (row->cfa_is_expression) {
        if (!simple_expression(fde, row->cfa, true, &reg, &rule->cfa)) return false;
        rule->flags |= CFA_IN_MEMORY;
    }
    rule->cfa_register = (uint8_t)reg;
    return reg == HL_REG_SP || reg == HL_REG_FP;
}

// set_offset stores an offset. It returns false if the offset is too large for a rule.
static bool set_offset(int16_t *to, int32_t offset) {
    *to = (int16_t)offset;
    return *to == offset;
}

static bool fp_rule(const struct hl_fde *fde, const struct hl_row *row, struct rule *rule) {
    unsigned reg;
    int32_t offset = row->value[HL_REG_FP];
    switch (row->how[HL_REG_FP]) {
    case HL_UNSPECIFIED:
    case HL_SAME:
    case HL_UNDEFINED: return true;
    case HL_AT_CFA: rule->flags |= FP_SAVED; return set_offset(&rule->fp, offset);
    case HL_AT_EXPR:
        rule->flags |= FP_SAVED | FP_AT_FP;
        return simple_expression(fde, offset, false, &reg, &offset) && reg == HL_REG_FP &&
               set_offset(&rule->fp, offset);
    default: return false;
    }
}

// rule_of converts a row. What does not fit is COMPLEX.
static struct rule rule_of(const struct hl_fde *fde, const struct hl_row *row) {
    struct rule rule = {.kind = SIMPLE};
    if (row->how[HL_REG_RA] == HL_UNDEFINED)
        rule.kind = OUTERMOST;
    else if (fde->signal || fde->return_register != HL_REG_RA || row->how[HL_REG_RA] != HL_AT_CFA ||
             row->how[HL_REG_SP] != HL_UNSPECIFIED || !cfa_rule(fde, row, &rule) ||
             !fp_rule(fde, row, &rule) || !set_offset(&rule.ra, row->value[HL_REG_RA]))
        rule.kind = COMPLEX;
    return rule;
}

// tables returns the window through which the tables are read. The code may be unloaded meanwhile
// if the walk has gone astray.
static struct hl_window tables(const struct hl_window *stack) {
    return (struct hl_window){.pieces = stack->pieces ? stack->pieces + 1 : NULL};
}

// uncovered returns the kind of code without call frame information. In musl that is also the code
// behind a call of a signal handler.
static enum kind uncovered(struct hl_window *w, uintptr_t pc) {
#if defined(__x86_64__)
    // mov $15, %rax; syscall
    static const unsigned char restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
    // mov x8, #139; svc #0
    static const unsigned char restorer[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
    unsigned char last, behind[sizeof restorer];
    if (!hl_copy(w, &last, pc, 1)) return NOWHERE;
    bool found = hl_copy(w, behind, pc + 1, sizeof behind);
    return found && memcmp(behind, restorer, sizeof behind) == 0 ? RESTORER : UNCOVERED;
}

static struct rule find_rule(uintptr_t pc, const struct hl_window *stack) {
    struct hl_window w = tables(stack);
    struct hl_fde fde;
    struct hl_row row;
    if (!hl_fde_find(&w, pc, &fde)) return (struct rule){.kind = (uint8_t)uncovered(&w, pc)};
    if (!hl_row_find(&fde, pc, &row)) return (struct rule){.kind = DAMAGED};
    return rule_of(&fde, &row);
}

// --- the cache ---

// The entries that an address may be in are one line of the processor's cache. Entries of older
// generations are void.
struct known {
    uintptr_t pc;
    struct rule rule;
    uint32_t generation;
};
enum { CACHE_BITS = 13, CACHE_WAYS = 2, WORDS = sizeof(struct known) / sizeof(uint64_t) };
struct entry {
    uint32_t sequence;
    uint64_t words[WORDS]; // struct known
};
static struct entry cache[1 << CACHE_BITS] __attribute__((aligned(64)));

_Static_assert(sizeof(struct known) == 24 && sizeof(struct entry) == 32, "two entries a line");

static struct entry *first_way(uintptr_t pc) {
    uint64_t hash = (uint64_t)pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CACHE_BITS);
    return &cache[hash & ~(uint64_t)(CACHE_WAYS - 1)];
}

static bool cached(struct entry *e, uintptr_t pc, uint32_t now, struct rule *rule) {
    uint64_t words[WORDS];
    struct known known;
    if (__atomic_load_n(&e->words[0], __ATOMIC_RELAXED) != pc ||
        !hl_published_read(&e->sequence, e->words, words, WORDS))
        return false;
    __builtin_memcpy(&known, words, sizeof known);
    *rule = known.rule;
    return known.pc == pc && known.generation == now;
}

static struct rule rule_at(uintptr_t pc, const struct hl_window *stack) {
    struct entry *way = first_way(pc);
    struct rule rule;
    uint32_t now = hl_tables_generation();
    for (int i = 0; i < CACHE_WAYS; i++)
        if (cached(&way[i], pc, now, &rule)) return rule;
    rule = find_rule(pc, stack);
    if (rule.kind == NOWHERE) return rule; // there may be code later
    struct known known = {pc, rule, now};
    uint64_t words[WORDS];
    __builtin_memcpy(words, &known, sizeof known);
    bool second = __atomic_load_n(&way[0].sequence, __ATOMIC_RELAXED) >
                  __atomic_load_n(&way[1].sequence, __ATOMIC_RELAXED);
    struct entry *e = &way[second]; // the one that was written less often
    hl_published_write(&e->sequence, e->words, words, WORDS);
    return rule;
}

bool hl_cfi_is_code(const struct hl_window *stack, uintptr_t pc) {
    return rule_at(pc - 1, stack).kind != NOWHERE;
}

// --- steps ---

static enum hl_step simple_step(struct hl_window *stack, struct hl_frame *f,
                                const struct rule *rule, uintptr_t *cfa, struct hl_past *past) {
    uintptr_t at = f->reg[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa, pc;
    uintptr_t sp = f->reg[HL_REG_SP], fp = f->reg[HL_REG_FP], fp_at = 0;
    bool in_memory = rule->flags & CFA_IN_MEMORY;
    bool needs_fp = rule->cfa_register == HL_REG_FP || rule->flags & FP_AT_FP;
    if (in_memory && !hl_load(stack, at, &at)) return HL_FAILED;
    uintptr_t pc_at = at + (uintptr_t)(intptr_t)rule->ra;
    if (!hl_load(stack, pc_at, &pc)) return HL_FAILED;
    if (rule->flags & FP_SAVED) {
        fp_at = (rule->flags & FP_AT_FP ? fp : at) + (uintptr_t)(intptr_t)rule->fp;
        if (!hl_load(stack, fp_at, &fp)) return HL_FAILED;
    }
    // A walk that repeats steps comes to an end, because each of them goes up.
    if (!f->interrupted && !in_memory && at > sp)
        *past = (struct hl_past){.pc = f->pc,
                                 .sp = sp,
                                 .fp = f->reg[HL_REG_FP],
                                 .fp_counts = needs_fp ? UINTPTR_MAX : 0,
                                 .caller_pc = pc,
                                 .caller_sp = at,
                                 .pc_at = (const uintptr_t *)pc_at,
                                 .fp_at = (const uintptr_t *)fp_at};
    f->pc = hl_code_address(pc);
    f->interrupted = false;
    f->reg[HL_REG_SP] = *cfa = at;
    f->reg[HL_REG_FP] = fp;
    f->known = UINT32_C(1) << HL_REG_SP | UINT32_C(1) << HL_REG_FP;
    return HL_STEPPED;
}

static bool find_cfa(const struct hl_fde *fde, const struct hl_row *row, const struct hl_frame *f,
                     uintptr_t *cfa) {
    struct hl_reader r;
    if (row->cfa_is_expression)
        return hl_row_expression(fde, row->cfa, &r) && hl_evaluate(r, f, NULL, cfa);
    if (!hl_register(f, row->cfa_register, cfa)) return false;
    *cfa += (uintptr_t)(intptr_t)row->cfa;
    return true;
}

// find_register sets register i of the caller. It is left unknown if it cannot be found.
static void find_register(struct hl_window *stack, const struct hl_fde *fde,
                          const struct hl_row *row, unsigned i, uintptr_t cfa,
                          const struct hl_frame *f, struct hl_frame *caller) {
    uintptr_t at = cfa + (uintptr_t)(intptr_t)row->value[i], value;
    struct hl_reader r;
    bool found = false;
    switch (row->how[i]) {
    case HL_UNSPECIFIED:
    case HL_SAME: found = hl_register(f, i, &value); break;
    case HL_AT_CFA: found = hl_load(stack, at, &value); break;
    case HL_IS_CFA: value = at, found = true; break;
    case HL_IN: found = hl_register(f, (uint64_t)row->value[i], &value); break;
    case HL_AT_EXPR:
        found = hl_row_expression(fde, row->value[i], &r) && hl_evaluate(r, f, &cfa, &at) &&
                hl_load(stack, at, &value);
        break;
    case HL_IS_EXPR:
        found = hl_row_expression(fde, row->value[i], &r) && hl_evaluate(r, f, &cfa, &value);
        break;
    }
    if (found) hl_set_register(caller, i, value);
}

// complex_step follows a row that is not kept as a rule.
static enum hl_step complex_step(struct hl_window *stack, struct hl_frame *f, uintptr_t pc,
                                 uintptr_t *cfa) {
    struct hl_window w = tables(stack);
    struct hl_fde fde;
    struct hl_row row;
    struct hl_frame caller = {.known = 0};
    uintptr_t return_address;
    if (!hl_fde_find(&w, pc, &fde) || !hl_row_find(&fde, pc, &row)) return HL_FAILED;
#if defined(__x86_64__)
    hl_set_register(f, HL_REG_RA, f->pc); // expressions of procedure linkage tables use it
#endif
    if (fde.return_register >= HL_REGISTERS || !find_cfa(&fde, &row, f, cfa)) return HL_FAILED;
    for (unsigned i = 0; i < HL_REGISTERS; i++)
        find_register(stack, &fde, &row, i, *cfa, f, &caller);
    if (row.how[HL_REG_SP] == HL_UNSPECIFIED) hl_set_register(&caller, HL_REG_SP, *cfa);
    if (!hl_register(&caller, fde.return_register, &return_address)) return HL_FAILED;
    caller.pc = hl_code_address(return_address);
    caller.interrupted = fde.signal;
    *f = caller;
    return HL_STEPPED;
}

enum hl_step hl_cfi_step(struct hl_window *stack, struct hl_frame *f, uintptr_t *cfa,
                         struct hl_past *past) {
    past->pc = 0;
    uintptr_t pc = f->interrupted ? f->pc : f->pc - 1;
    struct rule rule = rule_at(pc, stack);
    switch (rule.kind) {
    case SIMPLE: return simple_step(stack, f, &rule, cfa, past);
    case OUTERMOST: return HL_OUTERMOST;
    case NOWHERE: return HL_UNCOVERED;
    case RESTORER: return f->interrupted ? HL_UNCOVERED : HL_RESTORER;
    case UNCOVERED:
        return f->interrupted && rule_at(pc - 1, stack).kind == RESTORER ? HL_RESTORER
                                                                         : HL_UNCOVERED;
    case COMPLEX: return complex_step(stack, f, pc, cfa);
    default: return HL_FAILED;
    }
}
