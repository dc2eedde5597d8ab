#include "python/chain.h"

static const struct hl_interpreter *python_of(const struct hl_chain *c) { return c->interpreter; }

static bool load(struct hl_chain *c, uintptr_t base, int16_t offset, uintptr_t *value) {
    return offset == HL_ABSENT ? false : hl_load(&c->window, base + (uintptr_t)offset, value);
}

static bool read_byte(struct hl_chain *c, int16_t offset, uint8_t *value) {
    return offset != HL_ABSENT && hl_copy(&c->window, value, c->frame + (uintptr_t)offset, 1);
}

// is_entry reports whether the frame, from 3.12 on, is the one that an activation of the loop puts
// below the frames that it runs. It is on the C stack.
static bool is_entry(struct hl_chain *c) {
    enum { FIRST_VERSION = 12, OWNED_BY_LOOP = 3 }; // and more: other frames that are not Python's
    uint8_t owner;
    return python_of(c)->layout.minor >= FIRST_VERSION &&
           read_byte(c, python_of(c)->layout.frame.owner, &owner) && owner >= OWNED_BY_LOOP;
}

static void go_to_caller(struct hl_chain *c) {
    uintptr_t caller = 0;
    if (c->left-- == 0 || !load(c, c->frame, python_of(c)->layout.frame.previous, &caller))
        caller = 0;
    c->frame = caller;
}

static uintptr_t marker(const struct hl_chain *c) {
    if (python_of(c)->layout.frame.owner == HL_ABSENT ||
        python_of(c)->layout.frame.is_entry != HL_ABSENT)
        return c->activation;
    struct hl_chain ahead = *c;
    while (ahead.frame != 0 && !is_entry(&ahead)) go_to_caller(&ahead);
    return ahead.frame;
}

// instruction returns the offset of the current instruction in bytes, or -1.
static int instruction(struct hl_chain *c, uintptr_t code) {
    enum { UNITS_FROM = 10, UNIT = 2, MAX_OFFSET = 1 << 28 };
    const struct hl_layout *l = &python_of(c)->layout;
    uintptr_t at;
    if (l->code.instructions == HL_ABSENT) {
        int32_t number;
        if (!hl_copy(&c->window, &number, c->frame + (uintptr_t)l->frame.instruction,
                     sizeof number) ||
            number < 0 || number > MAX_OFFSET)
            return -1;
        return l->minor >= UNITS_FROM ? number * UNIT : number;
    }
    if (!load(c, c->frame, l->frame.instruction, &at)) return -1;
    at -= code + (uintptr_t)l->code.instructions;
    return at > MAX_OFFSET ? -1 : (int)at;
}

// name_of returns the name of the frame. It learns whether the structures of the interpreter are
// as expected: the first frames tell.
static struct hl_line name_of(struct hl_chain *c) {
    enum { TAG = 3, ENOUGH = 16 }; // from 3.14 on, the lowest bits of some references are tags
    static uint32_t valid, invalid;
    const struct hl_line none = {0, HL_ROLE_NONE};
    struct hl_line name = none;
    uintptr_t code = 0;
    load(c, c->frame, python_of(c)->layout.frame.code, &code);
    code &= ~(uintptr_t)TAG;
    enum hl_named result =
        hl_code_name(python_of(c), &c->window, code, instruction(c, code), &name);
    if (__atomic_load_n(&valid, __ATOMIC_RELAXED) < ENOUGH) {
        if (result == HL_NAMED_INVALID)
            __atomic_fetch_add(&invalid, 1, __ATOMIC_RELAXED);
        else
            __atomic_fetch_add(&valid, 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&invalid, __ATOMIC_RELAXED) == ENOUGH)
            hl_interpreter_refuse("has frames of an unknown layout");
    }
    return result == HL_NAMED_OK ? name : none;
}

// is_last reports whether the frame is the last one of its activation, up to 3.11. Up to 3.10 each
// frame has an activation of its own.
static bool is_last(struct hl_chain *c) {
    uint8_t entry = 0;
    if (python_of(c)->layout.frame.owner == HL_ABSENT) return true;
    return read_byte(c, python_of(c)->layout.frame.is_entry, &entry) && entry != 0;
}

static struct hl_line next(struct hl_chain *c, bool *last) {
    struct hl_line name = {0, HL_ROLE_NONE};
    *last = is_entry(c);
    if (!*last) {
        name = name_of(c);
        *last = is_last(c);
    }
    if (*last && !load(c, c->activation, python_of(c)->layout.activation.previous, &c->activation))
        c->activation = 0;
    go_to_caller(c);
    return name;
}

void hl_python_chain(struct hl_chain *c, const struct hl_interpreter *py, struct hl_window w,
                     uintptr_t thread) {
    static const struct hl_walk walk = {.next = next, .marker = marker};
    const struct hl_layout *l = &py->layout;
    *c = (struct hl_chain){
        .walk = &walk,
        .interpreter = py,
        .object = py->object,
        .loops = {{py->loop, py->loop + py->loop_size}},
        .window = w,
        .left = HL_CHAIN_FRAMES,
    };
    load(c, thread, l->thread.activation, &c->activation);
    if (l->thread.frame != HL_ABSENT)
        load(c, thread, l->thread.frame, &c->frame);
    else
        load(c, c->activation, l->activation.frame, &c->frame);
}
