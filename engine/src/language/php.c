// PHP 7.4 and 8.1 to 8.5, not built for threads (NTS). Sources: PHP's zend_compile.h (calls,
// functions, operations), zend_globals.h, zend_string.h.
#include "language/language.h"

// struct layout has the offsets that differ, in bytes.
struct layout {
    uint32_t api;                      // ZEND_MODULE_API_NO
    uint16_t globals_call;             // current_execute_data
    uint16_t globals_before_exception; // opline_before_exception
    uint8_t function_size;             // last, in operations
    uint8_t function_operations;       // opcodes
    uint8_t function_file;             // filename
};
static const struct layout layouts[] = {
    {20190902, 488, 880, 60, 64, 136},  // 7.4
    {20210902, 488, 880, 68, 72, 144},  // 8.1
    {20220829, 488, 880, 80, 88, 152},  // 8.2
    {20230831, 488, 880, 76, 80, 144},  // 8.3
    {20240924, 488, 952, 96, 104, 168}, // 8.4
    {20250925, 512, 976, 96, 104, 168}, // 8.5
};
static const char versions[] = "7.4 and 8.1 to 8.5";

// Other offsets in bytes.
enum {
    CALL_OPERATION = 0,
    CALL_FUNCTION = 24,
    CALL_INFO = 40,
    CALL_PREVIOUS = 48,
    FUNCTION_TYPE = 0,
    FUNCTION_NAME = 8,
    FUNCTION_SCOPE = 16,
    OPERATION_SIZE = 32,
    OPERATION_LINE = 24,
    STRING_HASH = 8,
    STRING_LENGTH = 16,
    STRING_TEXT = 24,
    CLASS_NAME = 8,
};

static uintptr_t globals, modules;
static const struct layout *layout; // NULL until the version is known

static bool examine(struct hl_window *w, const struct hl_module *m, struct hl_text *reason) {
    globals = hl_module_symbol(w, m, "executor_globals", NULL);
    modules = hl_module_symbol(w, m, "module_registry", NULL);
    if (globals == 0 || modules == 0) hl_put_string(reason, "it is built for threads");
    return globals != 0 && modules != 0;
}

// find_layout reads the version from the first module of PHP, a struct zend_module_entry. There are
// none yet when the interpreter is found.
static const struct layout *find_layout(struct hl_chain *c) {
    enum { ENTRIES = 16, API = 4, THREADS = 9 };
    uintptr_t entries, module;
    uint8_t threads = 0;
    uint32_t api = 0;
    if (!hl_load(&c->window, modules + ENTRIES, &entries) ||
        !hl_load(&c->window, entries, &module) ||
        !hl_copy(&c->window, &threads, module + THREADS, sizeof threads) ||
        !hl_copy(&c->window, &api, module + API, sizeof api))
        return NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts && threads == 0; i++)
        if (layouts[i].api == api) return &layouts[i];
    char text[80];
    struct hl_text reason = hl_text(text, sizeof text);
    hl_format(&reason, "API %u is not that of one of the supported versions, %s", (uint64_t)api,
              versions);
    hl_put_end(&reason);
    hl_language_refuse(c, threads ? "it is built for threads" : text);
    return NULL;
}

static bool begin(struct hl_chain *c) {
    const struct layout *known = __atomic_load_n(&layout, __ATOMIC_RELAXED);
    if (known == NULL && (known = find_layout(c)) != NULL)
        __atomic_store_n(&layout, known, __ATOMIC_RELAXED);
    return known != NULL && hl_load(&c->window, globals + known->globals_call, &c->frame);
}

// --- names ---

enum { KEY_FUNCTION, KEY_FILE, KEY_LINE, KEY_NAME, KEY_CLASS, KEY_HASH }; // of struct hl_key

// read_string copies a zend_string.
static size_t read_string(struct hl_window *w, char *to, size_t size, uintptr_t string) {
    uintptr_t length;
    if (string == 0 || !hl_load(w, string + STRING_LENGTH, &length)) return 0;
    return hl_language_text(w, to, size, string + STRING_TEXT, length);
}

static bool read_texts(struct hl_chain *c, const struct hl_key *key, struct hl_texts *t) {
    enum { LONGEST_CLASS = 300 };
    static const char none[] = "<main>", separator[] = "::";
    struct hl_window *w = &c->window;
    uintptr_t class_name;
    t->file_length = read_string(w, t->file, sizeof t->file, key->word[KEY_FILE]);
    if (key->word[KEY_NAME] == 0) {
        t->function_length = sizeof none - 1;
        memcpy(t->function, none, t->function_length);
        return true;
    }
    size_t n = 0;
    if (key->word[KEY_CLASS] != 0 && hl_load(w, key->word[KEY_CLASS] + CLASS_NAME, &class_name) &&
        (n = read_string(w, t->function, LONGEST_CLASS, class_name)) > 0) {
        memcpy(t->function + n, separator, sizeof separator - 1);
        n += sizeof separator - 1;
    }
    size_t length = read_string(w, t->function + n, sizeof t->function - n, key->word[KEY_NAME]);
    t->function_length = n + length;
    return length > 0;
}

// read_line reads the line of the operation that a call is at. While an exception is handled, the
// operation is one of the engine's own, and the globals have the one before.
static bool read_line(struct hl_chain *c, uintptr_t function, uint32_t *line) {
    struct hl_window *w = &c->window;
    uintptr_t operation, operations;
    uint32_t size;
    if (!hl_load(w, c->frame + CALL_OPERATION, &operation) ||
        !hl_load(w, function + layout->function_operations, &operations) ||
        !hl_copy(w, &size, function + layout->function_size, sizeof size))
        return false;
    uintptr_t end = operations + (uintptr_t)size * OPERATION_SIZE;
    bool is_own = operation >= operations && operation < end;
    if (!is_own && (!hl_load(w, globals + layout->globals_before_exception, &operation) ||
                    operation < operations || operation >= end))
        return false;
    return hl_copy(w, line, operation + OPERATION_LINE, sizeof *line);
}

// hash_of returns the hash that PHP has stored in a string. All strings that compiled code has are
// hashed. PHP's own allocator starts afresh with each request, so that all addresses are used
// again.
static uint64_t hash_of(struct hl_window *w, uintptr_t string) {
    uintptr_t hash = 0;
    if (string != 0) hl_load(w, string + STRING_HASH, &hash);
    return hash;
}

static uint64_t hash_of_texts(struct hl_window *w, const struct hl_key *key) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uintptr_t class_name = 0;
    if (key->word[KEY_CLASS] != 0) hl_load(w, key->word[KEY_CLASS] + CLASS_NAME, &class_name);
    uint64_t hash = hash_of(w, key->word[KEY_FILE]) * factor + hash_of(w, key->word[KEY_NAME]);
    return hash * factor + hash_of(w, class_name);
}

// line_of returns the line of a call. Functions in C have none.
static struct hl_line line_of(struct hl_chain *c) {
    enum { USER = 2, EVAL = 4 };
    struct hl_line none = {0, HL_ROLE_NONE};
    struct hl_window *w = &c->window;
    struct hl_key key = {{0}};
    uintptr_t function;
    uint8_t type;
    uint32_t line;
    if (!hl_load(w, c->frame + CALL_FUNCTION, &function) || function == 0 ||
        !hl_copy(w, &type, function + FUNCTION_TYPE, sizeof type) ||
        (type != USER && type != EVAL) || !read_line(c, function, &line) ||
        !hl_load(w, function + layout->function_file, &key.word[KEY_FILE]) ||
        !hl_load(w, function + FUNCTION_NAME, &key.word[KEY_NAME]) ||
        !hl_load(w, function + FUNCTION_SCOPE, &key.word[KEY_CLASS]))
        return none;
    key.word[KEY_FUNCTION] = function;
    key.word[KEY_LINE] = line;
    key.word[KEY_HASH] = hash_of_texts(w, &key);
    return hl_language_line(c, &key, "php", line, read_texts);
}

static struct hl_line next(struct hl_chain *c, bool *last) {
    enum { TOP = 1 << 17 }; // C called the function: the loop returns behind it
    struct hl_line line = line_of(c);
    uint32_t info = 0;
    uintptr_t previous = 0;
    hl_copy(&c->window, &info, c->frame + CALL_INFO, sizeof info);
    if (c->left-- == 0 || !hl_load(&c->window, c->frame + CALL_PREVIOUS, &previous)) previous = 0;
    *last = info & TOP || previous == 0;
    c->frame = previous;
    return line;
}

const struct hl_language hl_php = {.title = "PHP",
                                   .symbol = "zend_execute",
                                   .loops = {"execute_ex"},
                                   .examine = examine,
                                   .begin = begin,
                                   .walk = {.next = next}};
