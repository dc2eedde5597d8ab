// Frames of a language in a stack of C frames.
#include "language/chain.h"
#include "unwind/path.h"

bool hl_chain_in_loop(const struct hl_chain *c, uintptr_t pc) {
    for (int i = 0; i < HL_LOOPS; i++)
        if (hl_in_range(&c->loops[i], pc - 1)) return true;
    return false;
}

struct merge {
    struct hl_stack *s;
    struct hl_chain chain;
    uint32_t native; // the next C frame
    uint32_t frames; // of the result, which is in s->scratch

    uint32_t mark; // of the result: where pc[s->mark] was put

    // Imports. The frames of the importer are left out from the one that runs the module on, as in
    // CPython's own tracebacks, and with them the interpreter's C frames up to the modules.
    // Programs that import deeply would otherwise have some hundred frames on most of their stacks.
    bool importing;     // the last frame of the language was left out
    uint32_t held;      // C frames of the interpreter, of which the next frame decides
    uint32_t held_from; // the first one
};

static void put(struct merge *m, uintptr_t pc) { m->s->scratch[hl_path_slot(m->frames++)] = pc; }

// put_c puts C frame i.
static void put_c(struct merge *m, uint32_t i) {
    if (i == m->s->mark) m->mark = m->frames;
    put(m, m->s->pc[i]);
}

static void put_held(struct merge *m) {
    for (; m->held > 0; m->held--) put_c(m, m->held_from++);
}

static void put_native(struct merge *m, uint32_t up_to) {
    if (m->held_from + m->held != m->native) put_held(m);
    for (; m->native < up_to; m->native++) {
        if (hl_in_range(&m->chain.object, m->s->pc[m->native])) {
            if (m->held++ == 0) m->held_from = m->native;
            continue;
        }
        if (m->importing) m->held = 0;
        m->importing = false;
        put_held(m);
        put_c(m, m->native);
    }
}

static void put_line(struct merge *m, const struct hl_line *name) {
    bool was_importing = m->importing;
    m->importing =
        name->role == HL_ROLE_RUNS_MODULE || (was_importing && name->role == HL_ROLE_IMPORTER);
    if (was_importing || m->importing) m->held = 0;
    put_held(m);
    if (!m->importing) put(m, name->address);
}

// put_activation puts the frames of one activation.
static void put_activation(struct merge *m, struct hl_chain *c) {
    bool last = false;
    while (!last && c->frame != 0) {
        struct hl_line name = c->walk->next(c, &last);
        if (name.address != 0) put_line(m, &name);
    }
}

static void skip_activation(struct hl_chain *c) {
    bool last = false;
    while (!last && c->frame != 0) c->walk->next(c, &last);
}

// in_loop reports whether C frame i is the interpreter's loop.
static bool in_loop(const struct merge *m, uint32_t i) {
    return hl_chain_in_loop(&m->chain, m->s->pc[i]);
}

static uintptr_t marker_of(const struct hl_chain *c) {
    return c->walk->marker != NULL ? c->walk->marker(c) : 0;
}

// contains reports whether an address of the stack is in C frame i.
static bool contains(const struct merge *m, uint32_t i, uintptr_t address) {
    uintptr_t begin = i == 0 ? m->s->base : m->s->cfa[i - 1];
    return address >= begin && address < m->s->cfa[i];
}

// find returns the C frame of the activation that runs the chain's frame, or the number of frames.
static uint32_t find(struct merge *m) {
    uintptr_t marker = marker_of(&m->chain);
    uint32_t i = m->native;
    while (i < m->s->n && !(marker != 0 ? contains(m, i, marker) : in_loop(m, i))) i++;
    return i;
}

// skip_left_out goes to the activation of C frame i, the first one behind the frames that are left
// out. It is used where activations have no marker: they are counted from the other end.
static void skip_left_out(struct merge *m, uint32_t i) {
    uint32_t activations = 0, shown = 0;
    for (uint32_t k = i; k < m->s->n; k++) shown += in_loop(m, k);
    for (struct hl_chain c = m->chain; c.frame != 0; activations++) skip_activation(&c);
    for (; activations > shown; activations--) skip_activation(&m->chain);
}

// merge puts C frames and those of the chain. Activations whose C frame is not found, because the
// stack cannot be followed so far, are put where the next one is found, or at the end.
static void merge(struct merge *m) {
    enum { MAX_LOST = 8 };
    struct hl_chain lost = m->chain;
    uint32_t n_lost = 0, end = m->s->n - m->s->truncated;
    while (m->chain.frame != 0) {
        uint32_t i = n_lost < MAX_LOST ? find(m) : m->s->n;
        bool across = m->s->mark != 0 && m->native <= m->s->mark && i > m->s->mark && i < m->s->n;
        if (across && marker_of(&m->chain) == 0) skip_left_out(m, i);
        if (i >= end) {
            if (n_lost++ == 0) lost = m->chain;
            skip_activation(&m->chain);
            continue;
        }
        put_native(m, i);
        for (; n_lost > 0; n_lost--) put_activation(m, &lost);
        if (i == m->s->mark && i != 0) { // it is left out
            skip_activation(&m->chain);
        } else {
            m->native++;
            put_activation(m, &m->chain);
        }
    }
    put_native(m, end);
    for (; n_lost > 0; n_lost--) put_activation(m, &lost);
    put_native(m, m->s->n);
    put_held(m);
}

void hl_chain_merge(struct hl_stack *s, const struct hl_chain *innermost) {
    struct merge m = {.s = s, .chain = *innermost};
    merge(&m);
    uint32_t mark = hl_path_order(s->scratch, m.frames);
    if (mark != 0) s->scratch[mark] = hl_path_mark("[recursion]", s->scratch[mark]);
    s->mark = mark != 0 ? mark : m.mark;
    s->n = m.frames < HL_MAX_FRAMES ? m.frames : HL_MAX_FRAMES;
    memcpy(s->pc, s->scratch, s->n * sizeof *s->pc);
}
