// Ruby 3.1 and 3.2 with glibc on x86-64; 3.3 does not export what is needed. Sources: Ruby's
// vm_core.h (control frames, instruction sequences), iseq.h and iseq.c (lines), internal/imemo.h,
// include/ruby/internal/core (strings, arrays), gc.c.
//
// The execution context of a thread is in a thread-local variable. Its control frames are on the
// stack of the virtual machine, the innermost one first.
#include "base/config.h"
#include "language/language.h"

// struct layout has the offsets that differ, in bytes.
struct layout {
    char version[4];
    uint16_t vm_heap;     // gc.objspace
    uint8_t body_lines;   // insns_info.body, insns_info.size 16 and the index 24 bytes behind it
    uint8_t string_short; // the text of a short String
};
static const struct layout layouts[] = {
    {"3.1.", 1104, 120, 16},
    {"3.2.", 1128, 112, 24},
};
static const char versions[] = "3.1 and 3.2";

// Other offsets in bytes.
enum {
    HEAP_FLAGS = 16,
    CONTEXT_STACK = 0,
    CONTEXT_STACK_SIZE = 8, // in words
    CONTEXT_FRAME = 16,
    FRAME_SIZE = 64,
    FRAME_PC = 0,
    FRAME_CODE = 16,
    FRAME_ENVIRONMENT = 32,
    CODE_BODY = 16,
    BODY_SIZE = 4, // in words
    BODY_INSTRUCTIONS = 8,
    BODY_PATH = 64,
    BODY_LABEL = 80,
    LINES_SIZE = 16,
    LINES_INDEX = 24,
    LINE_SIZE = 12,
    OBJECT_FIELDS = 16,
    STRING_TEXT = 24,
    ARRAY_ITEMS = 32,
};

#if defined(__x86_64__)
enum { IS_X86 = 1 };
#else
enum { IS_X86 = 0 };
#endif

static const struct layout *layout; // never NULL again: a thread may read it at any time
static uintptr_t vm_at;             // of the variable with the virtual machine
static uintptr_t tls_offset;        // of the thread-local variable with the context, in its module
static uintptr_t tls_index_at;      // where the dynamic linker has put the number of that module

// find_thread_local finds the relocation by which the interpreter learns the number of its own
// module of thread-local variables.
static bool find_thread_local(struct hl_window *w, const struct hl_module *m) {
    enum { MODULE_NUMBER = 16, MOST = 1 << 20 }; // R_X86_64_DTPMOD64
    struct hl_tables t;
    struct hl_elf_symbol variable, symbol;
    struct {
        uint64_t offset, info, addend;
    } r;
    if (!hl_tables_read(w, m->base, m->dynamic, &t) ||
        !hl_tables_find(w, &t, "ruby_current_ec", &variable))
        return false;
    for (uint64_t i = 0; i < t.rela_size / sizeof r && i < MOST; i++) {
        if (!hl_copy(w, &r, t.rela + i * sizeof r, sizeof r)) return false;
        if ((uint32_t)r.info != MODULE_NUMBER || r.info >> 32 == 0 ||
            !hl_copy(w, &symbol, t.symbols + (r.info >> 32) * sizeof symbol, sizeof symbol) ||
            memcmp(&symbol, &variable, sizeof symbol) != 0)
            continue;
        tls_index_at = m->base + r.offset;
        tls_offset = variable.value;
        return true;
    }
    return false;
}

static const struct layout *layout_of(const char *version) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(layouts[i].version, version, sizeof layouts[i].version) == 0) return &layouts[i];
    return NULL;
}

static bool examine(struct hl_window *w, const struct hl_module *m, struct hl_text *reason) {
    char version[8] = "";
    hl_copy(w, version, hl_module_symbol(w, m, "ruby_version", NULL), sizeof version - 2);
    vm_at = hl_module_symbol(w, m, "ruby_current_vm_ptr", NULL);
    const struct layout *known = layout_of(version);
    if (known == NULL) {
        hl_format(reason, "%s is not one of the supported versions, %s", version, versions);
        return false;
    }
    layout = known;
    if (IS_X86 && vm_at != 0 && hl_has_prefix(hl_process.libc, "glibc") && find_thread_local(w, m))
        return true;
    hl_put_string(reason, "the thread-local variable with its frames is not found");
    return false;
}

// context returns the execution context of the calling thread, or 0. glibc has a table of the
// thread's variables, by module; a number before the table is its size.
static uintptr_t context(struct hl_window *w) {
    enum { TABLE = 8, ENTRY = 16 };
    uintptr_t table, size, index, block, value = 0;
    if (!hl_load(w, hl_thread_pointer() + TABLE, &table) || !hl_load(w, tls_index_at, &index) ||
        !hl_load(w, table - ENTRY, &size) || index == 0 || index > size ||
        !hl_load(w, table + index * ENTRY, &block) || block + 1 <= 1)
        return 0;
    return hl_load(w, block + tls_offset, &value) ? value : 0;
}

// collects_garbage reports whether objects are being moved or freed.
static bool collects_garbage(struct hl_window *w) {
    enum { DURING_GC = 1 << 5 };
    uintptr_t vm, heap;
    uint8_t flags;
    return !hl_load(w, vm_at, &vm) || !hl_load(w, vm + layout->vm_heap, &heap) ||
           !hl_copy(w, &flags, heap + HEAP_FLAGS, sizeof flags) || flags & DURING_GC;
}

enum { STACK_END }; // of the state of the chain

static void go_to(struct hl_chain *c, uintptr_t frame) {
    c->frame = frame + FRAME_SIZE <= c->state[STACK_END] ? frame : 0;
}

static bool begin(struct hl_chain *c) {
    struct hl_window *w = &c->window;
    uintptr_t stack, size, frame, ec = context(w);
    if (ec == 0 || collects_garbage(w) || !hl_load(w, ec + CONTEXT_STACK, &stack) ||
        !hl_load(w, ec + CONTEXT_STACK_SIZE, &size) || !hl_load(w, ec + CONTEXT_FRAME, &frame) ||
        frame < stack || frame % sizeof frame != 0 || size > UINT32_MAX)
        return false;
    c->state[STACK_END] = stack + size * sizeof(uintptr_t);
    go_to(c, frame);
    return true;
}

// --- names ---

enum { KEY_BODY, KEY_INSTRUCTIONS, KEY_PATH, KEY_LABEL, KEY_LINE }; // of struct hl_key
enum { TYPE = 0x1f, USER_FLAGS = 12, ARRAY = 7, STRING = 5, MEMO = 0x1a, OUTSIDE = 1 << 13 };

// read_string copies a String. A short one has its characters inside; before 3.2 it had its length
// in the flags.
static size_t read_string(struct hl_window *w, char *to, size_t size, uintptr_t string) {
    enum { LENGTH = USER_FLAGS + 2, MOST = 0x1f };
    uintptr_t flags, length, text;
    if (string == 0 || !hl_load(w, string, &flags) || (flags & TYPE) != STRING) return 0;
    bool is_outside = flags & OUTSIDE, has_length = layout->string_short != OBJECT_FIELDS;
    length = flags >> LENGTH & MOST;
    text = string + layout->string_short;
    if ((is_outside || has_length) && !hl_load(w, string + OBJECT_FIELDS, &length)) return 0;
    if (is_outside && !hl_load(w, string + STRING_TEXT, &text)) return 0;
    return hl_language_text(w, to, size, text, length);
}

static bool read_texts(struct hl_chain *c, const struct hl_key *key, struct hl_texts *t) {
    struct hl_window *w = &c->window;
    uintptr_t path = key->word[KEY_PATH], flags, items;
    if (!hl_load(w, path, &flags)) return false;
    if ((flags & TYPE) == ARRAY) { // of the path and the real path
        items = path + OBJECT_FIELDS;
        if (!(flags & OUTSIDE) && !hl_load(w, path + ARRAY_ITEMS, &items)) return false;
        if (!hl_load(w, items, &path)) return false;
    }
    t->file_length = read_string(w, t->file, sizeof t->file, path);
    t->function_length = read_string(w, t->function, sizeof t->function, key->word[KEY_LABEL]);
    return true;
}

// index_of returns the number of the entry of an instruction in the table of lines, plus one. The
// index is a set of bits, one for each word of code: numbers of 7 bits for the first 54 words, then
// blocks of 512 bits with the number of bits before them.
static uint32_t index_of(struct hl_window *w, uintptr_t index, uint32_t at) {
    enum { FIRST = 54, IN_WORD = 9, BITS = 7, MASK = 0x7f, BLOCK = 512, WORD = 64, RANK_BITS = 9 };
    enum { RANK_MASK = 0x1ff, WORDS_OF_FIRST = FIRST / IN_WORD };
    struct {
        uint32_t rank;
        uint64_t ranks, bits[BLOCK / WORD];
    } block;
    uintptr_t word;
    if (at < FIRST) {
        if (!hl_load(w, index + at / IN_WORD * sizeof word, &word)) return 0;
        return word >> at % IN_WORD * BITS & MASK;
    }
    at -= FIRST;
    index += WORDS_OF_FIRST * sizeof word + at / BLOCK * sizeof block;
    if (!hl_copy(w, &block, index, sizeof block)) return 0;
    uint32_t bit = at % BLOCK, part = bit / WORD, rank = block.rank;
    if (part > 0) rank += block.ranks >> (part - 1) * RANK_BITS & RANK_MASK;
    uint64_t bits = block.bits[part] << (WORD - 1 - bit % WORD);
    for (; bits != 0; bits &= bits - 1) rank++;
    return rank;
}

// read_line reads the line of the instruction before pc.
static bool read_line(struct hl_window *w, uintptr_t body, uintptr_t pc, uint32_t *line) {
    uintptr_t instructions, lines, index, lines_at = body + layout->body_lines;
    uint32_t size, n_lines, i = 1;
    if (!hl_load(w, body + BODY_INSTRUCTIONS, &instructions) ||
        !hl_copy(w, &size, body + BODY_SIZE, sizeof size) || !hl_load(w, lines_at, &lines) ||
        !hl_load(w, lines_at + LINES_INDEX, &index) ||
        !hl_copy(w, &n_lines, lines_at + LINES_SIZE, sizeof n_lines) || pc < instructions ||
        (pc - instructions) / sizeof pc > size)
        return false;
    uint32_t at = (uint32_t)((pc - instructions) / sizeof pc);
    if (at > 0) at--;
    if (n_lines > 1) i = index_of(w, index, at);
    return i >= 1 && i <= n_lines &&
           hl_copy(w, line, lines + (uintptr_t)(i - 1) * LINE_SIZE, sizeof *line);
}

// line_of returns the line of a frame of Ruby code. A method in C has no line, and the frame below
// the main program has line 0.
static struct hl_line line_of(struct hl_chain *c) {
    enum { KIND = USER_FLAGS, KIND_MASK = 15, INSTRUCTIONS = 7 }; // imemo_iseq
    struct hl_line none = {0, HL_ROLE_NONE};
    struct hl_window *w = &c->window;
    struct hl_key key = {{0}};
    uintptr_t pc, code, flags, body;
    uint32_t line;
    if (!hl_load(w, c->frame + FRAME_PC, &pc) || !hl_load(w, c->frame + FRAME_CODE, &code) ||
        pc == 0 || code == 0 || !hl_load(w, code, &flags) || (flags & TYPE) != MEMO ||
        (flags >> KIND & KIND_MASK) != INSTRUCTIONS || !hl_load(w, code + CODE_BODY, &body) ||
        !read_line(w, body, pc, &line) || line == 0 ||
        !hl_load(w, body + BODY_PATH, &key.word[KEY_PATH]) ||
        !hl_load(w, body + BODY_LABEL, &key.word[KEY_LABEL]) ||
        !hl_load(w, body + BODY_INSTRUCTIONS, &key.word[KEY_INSTRUCTIONS]))
        return none;
    key.word[KEY_BODY] = body;
    key.word[KEY_LINE] = line;
    return hl_language_line(c, &key, "ruby", line, read_texts);
}

// next: the flags of a frame are in its environment. The loop returns behind a frame that is marked
// as the last one; frames of C do not run in it.
static struct hl_line next(struct hl_chain *c, bool *last) {
    enum { FINISH = 0x20, OF_C = 0x80 };
    struct hl_line line = line_of(c);
    uintptr_t environment, flags = 0;
    if (hl_load(&c->window, c->frame + FRAME_ENVIRONMENT, &environment))
        hl_load(&c->window, environment, &flags);
    *last = (flags & (FINISH | OF_C)) == FINISH;
    if (c->left-- == 0)
        c->frame = 0;
    else
        go_to(c, c->frame + FRAME_SIZE);
    return line;
}

const struct hl_language hl_ruby = {
    .title = "Ruby",
    .symbol = "ruby_current_vm_ptr",
    .loops = {"rb_vm_exec"},
    .released = {"rb_nogvl", "rb_thread_call_without_gvl", "rb_thread_call_without_gvl2"},
    .examine = examine,
    .begin = begin,
    .walk = {.next = next}};
