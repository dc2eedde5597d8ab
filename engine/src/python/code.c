#include "python/code.h"

#include "language/known.h"

// --- strings ---

// struct string is a CPython string: its characters have size bytes each.
struct string {
    uintptr_t characters;
    uint64_t length;
    unsigned size;
};

static bool find_string(const struct hl_interpreter *py, struct hl_window *w, uintptr_t object,
                        struct string *s) {
    enum { SIZE_SHIFT = 2, SIZE_MASK = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };
    uintptr_t type;
    uint32_t state;
    if (object == 0 || !hl_load(w, object + (uintptr_t)py->layout.object.type, &type) ||
        type != py->string_type ||
        !hl_load(w, object + (uintptr_t)py->layout.string.length, &s->length) ||
        !hl_copy(w, &state, object + (uintptr_t)py->layout.string.state, sizeof state))
        return false;
    s->size = state >> SIZE_SHIFT & SIZE_MASK;
    int16_t at = state & ASCII ? py->layout.string.ascii : py->layout.string.compact;
    s->characters = object + (uintptr_t)at;
    return state & COMPACT && (s->size == 1 || s->size == 2 || s->size == 4);
}

// put_utf8 appends a character. Surrogates are appended as they are; whoever writes the text
// replaces them. It returns the number of bytes.
static size_t put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

// read_string copies a string as UTF-8, cut to the size of the buffer, and returns its length.
static size_t read_string(struct hl_window *w, const struct string *s, char *to, size_t size) {
    enum { LONGEST = 4 };
    size_t n = 0;
    for (uint64_t i = 0; i < s->length && n + LONGEST <= size; i++) {
        uint32_t c = 0;
        if (!hl_readable(w, s->characters + i * s->size, s->size)) break;
        const unsigned char *p = (const unsigned char *)(s->characters + i * s->size);
        for (unsigned k = 0; k < s->size; k++) c |= (uint32_t)p[k] << 8 * k;
        n += put_utf8(to + n, c);
    }
    return n;
}

// --- code objects ---

// struct code is what identifies an instruction and its name. A code object may be freed, and
// another one made at its address, so that its fields are compared.
struct code {
    uintptr_t object, filename, name, lines;
    int32_t offset, first_line;
};

static bool read_code(const struct hl_interpreter *py, struct hl_window *w, struct code *c) {
    uintptr_t type;
    return c->object != 0 && hl_load(w, c->object + (uintptr_t)py->layout.object.type, &type) &&
           type == py->code_type &&
           hl_load(w, c->object + (uintptr_t)py->layout.code.filename, &c->filename) &&
           hl_load(w, c->object + (uintptr_t)py->layout.code.name, &c->name) &&
           hl_load(w, c->object + (uintptr_t)py->layout.code.lines, &c->lines) &&
           hl_copy(w, &c->first_line, c->object + (uintptr_t)py->layout.code.first_line,
                   sizeof c->first_line);
}

static bool has_text(const char *text, size_t length, const char *wanted) {
    return length == hl_strlen(wanted) && memcmp(text, wanted, length) == 0;
}

static bool read_texts(const struct hl_interpreter *py, struct hl_window *w, const struct code *c,
                       struct hl_texts *t) {
    struct string function, file;
    if (!find_string(py, w, c->name, &function) || !find_string(py, w, c->filename, &file))
        return false;
    t->function_length = read_string(w, &function, t->function, sizeof t->function);
    t->file_length = read_string(w, &file, t->file, sizeof t->file);
    return true;
}

// role_of returns the part of a function in an import: the importer runs a module from its
// function _call_with_frames_removed.
static enum hl_role role_of(const struct hl_texts *t) {
    if (!has_text(t->file, t->file_length, "<frozen importlib._bootstrap>") &&
        !has_text(t->file, t->file_length, "<frozen importlib._bootstrap_external>"))
        return HL_ROLE_NONE;
    return has_text(t->function, t->function_length, "_call_with_frames_removed")
               ? HL_ROLE_RUNS_MODULE
               : HL_ROLE_IMPORTER;
}

// new_name names the frame. CPython itself tells the line: the function only reads the table of the
// code object, which is in use.
static bool new_name(const struct hl_interpreter *py, struct hl_window *w, const struct code *c,
                     struct hl_line *name) {
    struct hl_texts t;
    if (!read_texts(py, w, c, &t)) return false;
    int line = py->line_of(c->object, c->offset);
    if (line < 0) line = c->first_line;
    name->address = hl_texts_address(&t, "python", line < 0 ? 0 : (uint32_t)line);
    name->role = role_of(&t);
    return name->address != 0;
}

_Static_assert(sizeof(struct code) <= sizeof(struct hl_key), "a key has all of a struct code");

enum hl_named hl_code_name(const struct hl_interpreter *py, struct hl_window *w, uintptr_t object,
                           int offset, struct hl_line *name) {
    struct code code = {.object = object, .offset = offset};
    if (!read_code(py, w, &code)) return HL_NAMED_INVALID;
    // The names of code that starts and ends calls are those of no file.
    if (code.filename == code.name) return HL_NAMED_HIDDEN;
    struct hl_key key = {{0}};
    memcpy(&key, &code, sizeof code);
    if (hl_known(&key, name)) return HL_NAMED_OK;
    if (!new_name(py, w, &code, name)) return HL_NAMED_INVALID;
    hl_know(&key, name);
    return HL_NAMED_OK;
}
