// Perl 5.32 to 5.42, built with threads. Sources: Perl's cop.h (contexts and lines), cv.h, gv.h,
// hv.h, sv.h, intrpvar.h.
//
// A stack of contexts has a context for each block, sub and eval that runs. Callbacks of some
// operators, such as sort and tie, have stacks of their own, which are a list.
#include "language/language.h"

// struct layout is what differs between versions; offsets are in bytes.
struct layout {
    uint8_t minor;
    uint8_t thread_cop, thread_stack; // Icurcop and Icurstackinfo
    uint16_t entereval;               // the number of that operator
    bool is_behind_array;             // the names of a package follow the array of its entries
};
static const struct layout layouts[] = {
    {32, 224, 240, 345, true},  {34, 208, 224, 345, true},  {36, 208, 224, 345, false},
    {38, 208, 224, 348, false}, {40, 208, 224, 348, false}, {42, 208, 224, 352, false},
};
static const char versions[] = "5.32, 5.34 and so on to 5.42";

// Other offsets in bytes.
enum {
    STACK_CONTEXTS = 8,
    STACK_PREVIOUS = 16,
    STACK_LAST = 32,
    CONTEXT_SIZE = 104,
    CONTEXT_OPERATOR = 2,
    CONTEXT_OLD_COP = 16,
    CONTEXT_RETURN = 48,
    CONTEXT_SUB = 72,
    COP_LINE = 36,
    COP_FILE = 48,
    SV_FLAGS = 12,
    CV_STASH = 32,
    CV_NAME = 56,
    CV_FLAGS = 92,
    GV_NAME = 32,
    GV_STASH = 40,
    HV_ARRAY = 16, // in the head
    HV_LAST = 24,  // the highest index of the array
    HV_NAME = 32,
    HV_NAMES = 28, // from the name on
    HEK_LENGTH = 4,
    HEK_TEXT = 8,
};

static uintptr_t key_at;            // of the variable with the key of the thread's interpreter
static const struct layout *layout; // never NULL again: a thread may read it at any time

static const struct layout *layout_of(uint8_t minor) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

static bool examine(struct hl_window *w, const struct hl_module *m, struct hl_text *reason) {
    uint8_t minor = 0;
    uintptr_t version = hl_module_symbol(w, m, "PL_version", NULL);
    key_at = hl_module_symbol(w, m, "PL_thr_key", NULL);
    if (version != 0) hl_copy(w, &minor, version, sizeof minor);
    const struct layout *known = layout_of(minor);
    if (known != NULL) layout = known;
    if (known == NULL)
        hl_format(reason, "5.%u is not one of the supported versions, %s", (uint64_t)minor,
                  versions);
    else if (key_at == 0)
        hl_put_string(reason, "it is built without threads");
    return known != NULL && key_at != 0;
}

// The state of the chain, whose frame is a stack of contexts.
enum { DEPTH, COP }; // contexts that are left on the stack; the current line

static bool go_to_stack(struct hl_chain *c, uintptr_t stack) {
    int32_t last = 0;
    bool is_read = stack != 0 && hl_copy(&c->window, &last, stack + STACK_LAST, sizeof last) &&
                   last >= -1 && last < INT16_MAX * 64;
    c->frame = is_read ? stack : 0;
    c->state[DEPTH] = (uintptr_t)last + 1;
    return is_read;
}

static bool begin(struct hl_chain *c) {
    unsigned key;
    uintptr_t stack;
    if (!hl_copy(&c->window, &key, key_at, sizeof key)) return false;
    uintptr_t thread = hl_language_thread_value(key);
    return thread != 0 && hl_load(&c->window, thread + layout->thread_cop, &c->state[COP]) &&
           hl_load(&c->window, thread + layout->thread_stack, &stack) && go_to_stack(c, stack);
}

// --- names ---

// put_key appends the text of a struct hek.
static bool put_key(struct hl_window *w, struct hl_texts *t, uintptr_t hek) {
    int32_t length;
    if (hek == 0 || !hl_copy(w, &length, hek + HEK_LENGTH, sizeof length) || length <= 0)
        return false;
    t->function_length +=
        hl_language_text(w, t->function + t->function_length,
                         sizeof t->function - t->function_length, hek + HEK_TEXT, (size_t)length);
    return true;
}

// name_of_package returns where the name of a package is, or 0.
static uintptr_t name_of_package(struct hl_window *w, uintptr_t stash) {
    enum { HAS_NAME = 0x02000000 };
    uintptr_t body, array, last;
    uint32_t flags;
    if (!hl_load(w, stash, &body) || !hl_copy(w, &flags, stash + SV_FLAGS, sizeof flags) ||
        !(flags & HAS_NAME))
        return 0;
    if (!layout->is_behind_array) return body + HV_NAME;
    if (!hl_load(w, stash + HV_ARRAY, &array) || !hl_load(w, body + HV_LAST, &last)) return 0;
    return array + (last + 1) * sizeof array;
}

// put_package appends the name of a package. It may have several.
static bool put_package(struct hl_window *w, struct hl_texts *t, uintptr_t stash) {
    enum { LONGEST = 400 };
    uintptr_t at = name_of_package(w, stash), name;
    int32_t names;
    if (at == 0 || !hl_load(w, at, &name) || !hl_copy(w, &names, at + HV_NAMES, sizeof names) ||
        (names != 0 && !hl_load(w, name, &name)) || !put_key(w, t, name))
        return false;
    if (t->function_length > LONGEST) t->function_length = LONGEST;
    t->function[t->function_length++] = ':';
    t->function[t->function_length++] = ':';
    return true;
}

// put_sub appends the name of a sub, which has a glob, or the text itself.
static bool put_sub(struct hl_window *w, struct hl_texts *t, uintptr_t sub) {
    enum { TYPE = 0xff, PVCV = 13, NAMED = 0x8000 };
    uintptr_t body, name, stash;
    uint32_t flags;
    if (!hl_copy(w, &flags, sub + SV_FLAGS, sizeof flags) || (flags & TYPE) != PVCV ||
        !hl_load(w, sub, &body) || !hl_load(w, body + CV_NAME, &name) || name == 0 ||
        !hl_copy(w, &flags, body + CV_FLAGS, sizeof flags))
        return false;
    if (flags & NAMED) {
        if (!hl_load(w, body + CV_STASH, &stash)) return false;
    } else if (!hl_load(w, name, &body) || !hl_load(w, body + GV_STASH, &stash) ||
               !hl_load(w, body + GV_NAME, &name)) {
        return false;
    }
    return (stash == 0 || put_package(w, t, stash)) && put_key(w, t, name);
}

// Words of struct hl_key. KEY_CODE has the hash of the name of the file too: code of other files
// gets the memory of code that was freed.
enum { KEY_COP, KEY_FILE, KEY_LINE, KEY_SUB, KEY_NAME, KEY_CODE };
enum { CODE_MASK = 3 };
enum { IN_SUB, IN_EVAL, IN_FILE, IN_MAIN };

// read_file copies the name of a file. Each eval has a name with a number of its own, "(eval 12)".
static size_t read_file(struct hl_window *w, char *to, size_t size, uintptr_t at) {
    static const char eval[] = "(eval ";
    size_t n = at == 0 ? 0 : hl_language_text(w, to, size, at, size);
    if (n < sizeof eval || memcmp(to, eval, sizeof eval - 1) != 0) return n;
    to[sizeof eval - 2] = ')';
    return sizeof eval - 1;
}

static uint64_t hash_of_file(struct hl_window *w, uintptr_t at) {
    char text[1024];
    uint64_t hash = 0;
    size_t n = read_file(w, text, sizeof text, at);
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool read_texts(struct hl_chain *c, const struct hl_key *key, struct hl_texts *t) {
    uint64_t code = key->word[KEY_CODE] & CODE_MASK;
    t->file_length = read_file(&c->window, t->file, sizeof t->file, key->word[KEY_FILE]);
    if (code == IN_SUB) return put_sub(&c->window, t, key->word[KEY_SUB]);
    static const char *const names[] = {[IN_EVAL] = "<eval>", [IN_FILE] = "<require>"};
    const char *name = code == IN_MAIN ? "<main>" : names[code];
    t->function_length = hl_strlen(name);
    memcpy(t->function, name, t->function_length);
    return true;
}

// line_of returns the current line, which is in a sub, or in the code of a file or of an eval.
static struct hl_line line_of(struct hl_chain *c, int code, uintptr_t sub) {
    struct hl_key key = {.word = {c->state[COP], 0, 0, sub, 0, (uint64_t)code}};
    uintptr_t body;
    uint32_t line = 0;
    if (hl_copy(&c->window, &line, c->state[COP] + COP_LINE, sizeof line))
        hl_load(&c->window, c->state[COP] + COP_FILE, &key.word[KEY_FILE]);
    if (sub != 0 && hl_load(&c->window, sub, &body))
        hl_load(&c->window, body + CV_NAME, &key.word[KEY_NAME]);
    key.word[KEY_LINE] = line;
    key.word[KEY_CODE] |= hash_of_file(&c->window, key.word[KEY_FILE]) & ~(uint64_t)CODE_MASK;
    return hl_language_line(c, &key, "perl", line, read_texts);
}

// --- contexts ---

enum { OPERATOR_SHIFT = 7 };
enum { TYPE_MASK = 15, SUB = 9, EVAL = 11, BLOCK_EVAL = 0x40 };

struct context {
    uint8_t type;
    uint16_t operator; // that has compiled the code of an eval, shifted
    uintptr_t sub, old_cop, return_to;
};

static bool read_context(struct hl_chain *c, struct context *x) {
    uintptr_t all;
    if (!hl_load(&c->window, c->frame + STACK_CONTEXTS, &all)) return false;
    uintptr_t at = all + (c->state[DEPTH] - 1) * CONTEXT_SIZE;
    return hl_copy(&c->window, &x->type, at, sizeof x->type) &&
           hl_copy(&c->window, &x->operator, at + CONTEXT_OPERATOR, sizeof x->operator) &&
           hl_load(&c->window, at + CONTEXT_OLD_COP, &x->old_cop) &&
           hl_load(&c->window, at + CONTEXT_RETURN, &x->return_to) &&
           hl_load(&c->window, at + CONTEXT_SUB, &x->sub);
}

// is_frame reports whether a context is a frame: a sub, or code that eval or require compiled. An
// eval of a block is a part of its sub.
static bool is_frame(const struct context *x) {
    return (x->type & TYPE_MASK) == SUB ||
           ((x->type & TYPE_MASK) == EVAL && !(x->type & BLOCK_EVAL));
}

// next_stack goes to the stack below, or ends the chain with the main program.
static struct hl_line next_stack(struct hl_chain *c, bool *last) {
    struct hl_line line = {0, HL_ROLE_NONE};
    uintptr_t previous = 0;
    if (hl_load(&c->window, c->frame + STACK_PREVIOUS, &previous) && previous != 0) {
        go_to_stack(c, previous);
    } else {
        line = line_of(c, IN_MAIN, 0);
        c->frame = 0;
    }
    *last = c->frame == 0;
    return line;
}

static struct hl_line next(struct hl_chain *c, bool *last) {
    struct hl_line line = {0, HL_ROLE_NONE};
    struct context x = {0};
    *last = false;
    if (c->left-- == 0) c->frame = 0;
    if (c->frame == 0) return line;
    if (c->state[DEPTH] == 0) return next_stack(c, last);
    if (!read_context(c, &x)) {
        c->frame = 0;
        return line;
    }
    c->state[DEPTH]--;
    if (!is_frame(&x)) return line;
    bool is_sub = (x.type & TYPE_MASK) == SUB;
    int code = x.operator >> OPERATOR_SHIFT == layout->entereval ? IN_EVAL : IN_FILE;
    line = line_of(c, is_sub ? IN_SUB : code, is_sub ? x.sub : 0);
    c->state[COP] = x.old_cop;
    *last = x.return_to == 0;
    return line;
}

const struct hl_language hl_perl = {.title = "Perl",
                                    .symbol = "PL_subversion",
                                    .loops = {"Perl_runops_standard", "Perl_runops_debug"},
                                    .examine = examine,
                                    .begin = begin,
                                    .walk = {.next = next}};
