#include "unwind/expression.h"

enum {
    ADDR = 0x03,
    DEREF = 0x06,
    CONST1U = 0x08,
    CONST8S = 0x0f,
    CONSTU = 0x10,
    CONSTS = 0x11,
    DUP = 0x12,
    DROP = 0x13,
    OVER = 0x14,
    PICK = 0x15,
    SWAP = 0x16,
    ROT = 0x17,
    ABS = 0x19,
    AND = 0x1a,
    DIV = 0x1b,
    MINUS = 0x1c,
    MOD = 0x1d,
    MUL = 0x1e,
    NEG = 0x1f,
    NOT = 0x20,
    OR = 0x21,
    PLUS = 0x22,
    PLUS_UCONST = 0x23,
    SHL = 0x24,
    SHR = 0x25,
    SHRA = 0x26,
    XOR = 0x27,
    BRA = 0x28,
    EQ = 0x29,
    GE = 0x2a,
    GT = 0x2b,
    LE = 0x2c,
    LT = 0x2d,
    NE = 0x2e,
    SKIP = 0x2f,
    LIT0 = 0x30,
    BREG0 = 0x70,
    BREGX = 0x92,
    DEREF_SIZE = 0x94,
    NOP = 0x96,
};

enum { MAX_STACK = 32, MAX_OPERATIONS = 1000, WORD_BITS = 64 };

struct machine {
    struct hl_reader r;
    uintptr_t start; // of the expression
    const struct hl_frame *frame;
    int n;
    uint64_t stack[MAX_STACK];
};

static void push(struct machine *m, uint64_t v) {
    if (m->n == MAX_STACK)
        m->r.failed = true;
    else
        m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m) {
    if (m->n == 0) {
        m->r.failed = true;
        return 0;
    }
    return m->stack[--m->n];
}

static void pick(struct machine *m, uint64_t depth) {
    if (depth >= (uint64_t)m->n)
        m->r.failed = true;
    else
        push(m, m->stack[(uint64_t)m->n - 1 - depth]);
}

static void push_register(struct machine *m, uint64_t reg) {
    uintptr_t v = 0;
    if (!hl_register(m->frame, reg, &v)) m->r.failed = true;
    push(m, v + (uint64_t)hl_read_sleb(&m->r));
}

static void dereference(struct machine *m, uint64_t size) {
    uint64_t v = 0;
    if (size == 0 || size > sizeof v || !hl_copy(m->r.window, &v, pop(m), size)) m->r.failed = true;
    push(m, v);
}

// jump moves behind or before the next operation. Programs that do not end are limited by the
// number of operations.
static void jump(struct machine *m, bool taken) {
    int64_t by = hl_read_signed(&m->r, 2);
    if (!taken) return;
    uintptr_t to = m->r.at + (uintptr_t)by;
    if (to < m->start || to > m->r.end)
        m->r.failed = true;
    else
        m->r.at = to;
}

static void rotate(struct machine *m) {
    uint64_t a = pop(m), b = pop(m), c = pop(m);
    push(m, a);
    push(m, c);
    push(m, b);
}

static void swap(struct machine *m) {
    uint64_t a = pop(m), b = pop(m);
    push(m, a);
    push(m, b);
}

static void divide(struct machine *m, uint8_t op) {
    uint64_t b = pop(m), a = pop(m);
    if (b == 0 || (op == DIV && a == (uint64_t)INT64_MIN && b == UINT64_MAX)) {
        m->r.failed = true;
        return;
    }
    push(m, op == DIV ? (uint64_t)((int64_t)a / (int64_t)b) : a % b);
}

// binary executes an operation on two values. It returns false if the opcode is another one.
static bool binary(struct machine *m, uint8_t op) {
    if (!(op == AND || op == MINUS || op == MUL || op == OR || op == PLUS ||
          (op >= SHL && op <= XOR) || (op >= EQ && op <= NE)))
        return false;
    uint64_t b = pop(m), a = pop(m), v = 0;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case AND: v = a & b; break;
    case MINUS: v = a - b; break;
    case MUL: v = a * b; break;
    case OR: v = a | b; break;
    case PLUS: v = a + b; break;
    case SHL: v = b < WORD_BITS ? a << b : 0; break;
    case SHR: v = b < WORD_BITS ? a >> b : 0; break;
    case SHRA: v = (uint64_t)(sa >> (b < WORD_BITS ? b : WORD_BITS - 1)); break;
    case XOR: v = a ^ b; break;
    case EQ: v = sa == sb; break;
    case GE: v = sa >= sb; break;
    case GT: v = sa > sb; break;
    case LE: v = sa <= sb; break;
    case LT: v = sa < sb; break;
    case NE: v = sa != sb; break;
    }
    push(m, v);
    return true;
}

// constant executes an operation whose value is in the opcode or behind it. It returns false if the
// opcode is another one.
static bool constant(struct machine *m, uint8_t op) {
    enum { LITERALS = 32 };
    if (op >= LIT0 && op < LIT0 + LITERALS) {
        push(m, (uint64_t)(op - LIT0));
    } else if (op >= CONST1U && op <= CONST8S) {
        // Sizes 1, 2, 4, 8; of each an unsigned and a signed one.
        size_t size = (size_t)1 << (op - CONST1U) / 2;
        bool is_signed = (op - CONST1U) % 2;
        push(m, is_signed ? (uint64_t)hl_read_signed(&m->r, size) : hl_read_unsigned(&m->r, size));
    } else if (op == ADDR) {
        push(m, hl_read_unsigned(&m->r, sizeof(uintptr_t)));
    } else if (op == CONSTU) {
        push(m, hl_read_uleb(&m->r));
    } else if (op == CONSTS) {
        push(m, (uint64_t)hl_read_sleb(&m->r));
    } else if (op >= BREG0 && op < BREG0 + LITERALS) {
        push_register(m, (uint64_t)(op - BREG0));
    } else if (op == BREGX) {
        push_register(m, hl_read_uleb(&m->r));
    } else {
        return false;
    }
    return true;
}

static void operation(struct machine *m) {
    uint8_t op = (uint8_t)hl_read_unsigned(&m->r, 1);
    if (constant(m, op) || binary(m, op)) return;
    switch (op) {
    case DEREF: dereference(m, sizeof(uintptr_t)); break;
    case DEREF_SIZE: dereference(m, hl_read_unsigned(&m->r, 1)); break;
    case DUP: pick(m, 0); break;
    case DROP: pop(m); break;
    case OVER: pick(m, 1); break;
    case PICK: pick(m, hl_read_unsigned(&m->r, 1)); break;
    case SWAP: swap(m); break;
    case ROT: rotate(m); break;
    case ABS: {
        uint64_t v = pop(m);
        push(m, (int64_t)v < 0 ? -v : v);
        break;
    }
    case NEG: push(m, -pop(m)); break;
    case NOT: push(m, ~pop(m)); break;
    case PLUS_UCONST: push(m, pop(m) + hl_read_uleb(&m->r)); break;
    case DIV:
    case MOD: divide(m, op); break;
    case SKIP: jump(m, true); break;
    case BRA: jump(m, pop(m) != 0); break;
    case NOP: break;
    default: m->r.failed = true;
    }
}

bool hl_evaluate(struct hl_reader r, const struct hl_frame *f, const uintptr_t *initial,
                 uintptr_t *result) {
    struct machine m; // the stack is not cleared: its values are written before they are read
    m.r = r;
    m.start = r.at;
    m.frame = f;
    m.n = 0;
    if (initial != NULL) push(&m, *initial);
    for (int i = 0; i < MAX_OPERATIONS && !m.r.failed && m.r.at < m.r.end; i++) operation(&m);
    if (m.r.at < m.r.end || m.n == 0) return false;
    *result = pop(&m);
    return !m.r.failed;
}
