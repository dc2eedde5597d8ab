// Python frames in a stack of C frames.
#include "base/config.h"
#include "python/chain.h"
#include "python/python.h"
#include "unwind/path.h"

struct merge {
    struct hl_stack *s;
    struct hl_chain chain;
    uint32_t native; // the next C frame
    uint32_t frames; // of the result, which is in s->scratch

    // Imports. The frames of the importer are left out from the one that runs the module on, as in
    // CPython's own tracebacks, and with them the interpreter's C frames up to the modules.
    // Programs that import deeply would otherwise have some hundred frames on most of their stacks.
    bool importing;     // the last Python frame was left out
    uint32_t held;      // C frames of the interpreter, of which the next frame decides
    uint32_t held_from; // the first one
};

static void put(struct merge *m, uintptr_t pc) { m->s->scratch[hl_path_slot(m->frames++)] = pc; }

static void put_held(struct merge *m) {
    for (; m->held > 0; m->held--) put(m, m->s->pc[m->held_from++]);
}

static bool is_interpreter(const struct merge *m, uintptr_t pc) {
    return pc >= m->chain.py->object.start && pc < m->chain.py->object.end;
}

static void put_native(struct merge *m, uint32_t up_to) {
    if (m->held_from + m->held != m->native) put_held(m);
    for (; m->native < up_to; m->native++) {
        uintptr_t pc = m->s->pc[m->native];
        if (is_interpreter(m, pc)) {
            if (m->held++ == 0) m->held_from = m->native;
            continue;
        }
        if (m->importing) m->held = 0;
        m->importing = false;
        put_held(m);
        put(m, pc);
    }
}

static void put_python(struct merge *m, const struct hl_code_name *name) {
    bool was_importing = m->importing;
    m->importing =
        name->role == HL_ROLE_RUNS_MODULE || (was_importing && name->role == HL_ROLE_IMPORTER);
    if (was_importing || m->importing) m->held = 0;
    put_held(m);
    if (!m->importing) put(m, name->address);
}

// put_activation puts the Python frames of one activation.
static void put_activation(struct merge *m, struct hl_chain *c) {
    bool last = false;
    while (!last && c->frame != 0) {
        struct hl_code_name name = hl_chain_next(c, &last);
        if (name.address != 0) put_python(m, &name);
    }
}

static void skip_activation(struct hl_chain *c) {
    bool last = false;
    while (!last && c->frame != 0) hl_chain_next(c, &last);
}

// in_loop reports whether C frame i is the interpreter's loop.
static bool in_loop(const struct merge *m, uint32_t i) {
    return m->s->pc[i] - 1 - m->chain.py->loop < m->chain.py->loop_size;
}

// contains reports whether an address of the stack is in C frame i.
static bool contains(const struct merge *m, uint32_t i, uintptr_t address) {
    uintptr_t begin = i == 0 ? m->s->base : m->s->cfa[i - 1];
    return address >= begin && address < m->s->cfa[i];
}

// find returns the C frame of the activation that runs the chain's frame, or the number of frames.
static uint32_t find(struct merge *m) {
    uintptr_t marker = hl_chain_marker(&m->chain);
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

// merge puts C frames and Python frames. Activations whose C frame is not found, because the stack
// cannot be followed so far, are put where the next one is found, or at the end.
static void merge(struct merge *m) {
    enum { MAX_LOST = 8 };
    struct hl_chain lost = m->chain;
    uint32_t n_lost = 0, end = m->s->n - m->s->truncated;
    while (m->chain.frame != 0) {
        uint32_t i = n_lost < MAX_LOST ? find(m) : m->s->n;
        bool across = m->s->mark != 0 && m->native <= m->s->mark && i > m->s->mark && i < m->s->n;
        if (across && hl_chain_marker(&m->chain) == 0) skip_left_out(m, i);
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

// thread_on returns the state of the thread that has the stack, or 0. A thread may run another
// interpreter in a state that a different thread has made. Before 3.12, when CPython did not yet
// store the state in the thread, only the record of the activation tells: it is on the stack.
static uintptr_t thread_on(const struct hl_stack *s, const struct hl_interpreter *py,
                           struct hl_window *w) {
    struct hl_window unstable = {.unstable = true}; // the state may be that of a different thread
    int16_t offset = py->layout.thread.activation;
    uintptr_t activation;
    bool attached;
    uintptr_t own = hl_interpreter_thread(py, w, &attached);
    if (attached || offset == HL_ABSENT || s->n == 0) return own;
    uintptr_t current = py->current_thread();
    bool is_here = current != 0 && hl_load(&unstable, current + (uintptr_t)offset, &activation) &&
                   activation >= s->base && activation < s->cfa[s->n - 1];
    return is_here ? current : own;
}

// merge_thread merges the frames of the calling thread.
static void merge_thread(struct hl_stack *s, const struct hl_interpreter *py) {
    struct hl_window w = {.trusting = true};
    struct merge m = {.s = s};
    uintptr_t thread = thread_on(s, py, &w);
    if (thread == 0) return;
    hl_chain_start(&m.chain, py, w, thread);
    if (m.chain.frame == 0) return;
    merge(&m);
    uint32_t mark = hl_path_order(s->scratch, m.frames);
    if (mark != 0) s->scratch[mark] = hl_path_mark("[recursion]", s->scratch[mark]);
    s->n = m.frames < HL_MAX_FRAMES ? m.frames : HL_MAX_FRAMES;
    memcpy(s->pc, s->scratch, s->n * sizeof *s->pc);
}

void hl_python_merge(struct hl_stack *s) {
    const struct hl_interpreter *py = hl_config.python ? hl_interpreter() : NULL;
    if (py == NULL) return;
    merge_thread(s, py);
    hl_interpreter_done();
}
