#include "base/objects.h"

// From the C library and its dynamic linker: musl has _dl_debug_addr, glibc has _r_debug.
struct list {
    int version;
    uintptr_t first;
};
extern struct list _r_debug __attribute__((weak));
extern struct list *_dl_debug_addr __attribute__((weak));
extern unsigned long getauxval(unsigned long type);
extern const char _DYNAMIC[] __attribute__((visibility("hidden"))); // the engine's own

bool hl_loaded_late;

// --- the list ---

bool hl_module_next(struct hl_window *w, uintptr_t *at, struct hl_module *o) {
    uintptr_t next = 0;
    if (*at != 0) {
        next = o->next;
    } else if (&_r_debug != NULL) {
        next = _r_debug.first;
    } else if (&_dl_debug_addr != NULL && _dl_debug_addr != NULL) {
        next = _dl_debug_addr->first;
    }
    *at = next;
    return next != 0 && hl_copy(w, o, next, sizeof *o);
}

uintptr_t hl_module_list(void) {
    enum { MAX_LIST = 4096 };
    struct hl_window w = {.unstable = true};
    struct hl_module o;
    uintptr_t sum = 1, at = 0;
    for (int i = 0; i < MAX_LIST && hl_module_next(&w, &at, &o); i++)
        sum = (sum ^ at ^ o.base ^ o.dynamic) * 0x9e3779b97f4a7c15;
    return sum;
}

// --- the addresses of an object ---

// segments finds the program headers of an object. Those of the program are told by the kernel;
// those of a library follow its ELF header.
static bool segments(struct hl_window *w, const struct hl_module *o, bool is_program, uintptr_t *at,
                     size_t *n) {
    enum { AT_PHDR = 3, AT_PHNUM = 5 };
    if (is_program) {
        *at = getauxval(AT_PHDR);
        *n = getauxval(AT_PHNUM);
        return *at != 0;
    }
    struct hl_elf_header h;
    static const unsigned char magic[4] = {0x7f, 'E', 'L', 'F'};
    if (o->base == 0 || !hl_copy(w, &h, o->base, sizeof h) || memcmp(h.ident, magic, 4) != 0)
        return false;
    *at = o->base + h.phoff;
    *n = h.phnum;
    return h.phentsize == sizeof(struct hl_elf_segment);
}

bool hl_module_extent(struct hl_window *w, const struct hl_module *o, bool is_program,
                      struct hl_extent *e) {
    uintptr_t at;
    size_t n;
    *e = (struct hl_extent){.start = UINTPTR_MAX};
    if (!segments(w, o, is_program, &at, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        struct hl_elf_segment s;
        if (!hl_copy(w, &s, at + i * sizeof s, sizeof s)) return false;
        uintptr_t start = o->base + s.vaddr;
        if (s.type == HL_PT_EH_FRAME) e->unwind_table = start;
        if (s.type != HL_PT_LOAD) continue;
        if (start < e->start) e->start = start;
        if (start + s.memsz > e->end) e->end = start + s.memsz;
    }
    return e->start < e->end;
}

// --- symbols ---

uintptr_t hl_module_symbol(struct hl_window *w, const struct hl_module *o, const char *name,
                           size_t *size) {
    struct hl_tables t;
    struct hl_elf_symbol found;
    if (!hl_tables_read(w, o->base, o->dynamic, &t) || !hl_tables_find(w, &t, name, &found))
        return 0;
    if (size != NULL) *size = found.size;
    return o->base + found.value;
}

// is_function reports whether a symbol may be called.
static bool is_function(const struct hl_elf_symbol *s) {
    enum { TYPE = 15, STT_NOTYPE = 0, STT_FUNC = 2 };
    return (s->info & TYPE) == STT_FUNC || (s->info & TYPE) == STT_NOTYPE;
}

struct search {
    struct hl_window window;
    struct hl_symbol *symbols;
    size_t n, missing;
};

// find_in sets the symbols that are still missing and that the object defines.
static void find_in(struct search *s, const struct hl_module *o, bool is_program, bool is_engine) {
    struct hl_tables t;
    struct hl_elf_symbol found;
    struct hl_extent e;
    if (!hl_tables_read(&s->window, o->base, o->dynamic, &t)) return;
    for (size_t i = 0; i < s->n; i++) {
        struct hl_symbol *symbol = s->symbols + i;
        if (symbol->address || !hl_tables_find(&s->window, &t, symbol->name, &found) ||
            !is_function(&found))
            continue;
        hl_module_extent(&s->window, o, is_program, &e);
        symbol->address = (void *)(o->base + found.value);
        symbol->object.start = e.start;
        symbol->object.end = e.end;
        symbol->object.is_program = is_program;
        symbol->object.is_engine = is_engine;
        s->missing--;
    }
}

static struct hl_window window_at_start(void) {
    return hl_loaded_late ? (struct hl_window){.unstable = true} : HL_READABLE;
}

static void search(struct hl_symbol *symbols, size_t n, bool following) {
    struct search s = {.window = window_at_start(), .symbols = symbols, .n = n, .missing = n};
    struct hl_module o;
    uintptr_t at = 0;
    bool is_program = true, passed = false;
    for (size_t i = 0; i < n; i++) symbols[i].address = NULL;
    for (; s.missing > 0 && hl_module_next(&s.window, &at, &o); is_program = false) {
        bool is_engine = o.dynamic == (uintptr_t)_DYNAMIC;
        bool wanted = hl_loaded_late ? !is_engine : passed;
        if (!following || wanted) find_in(&s, &o, is_program, is_engine);
        if (is_engine) passed = true;
    }
}

void hl_find_following(struct hl_symbol *symbols, size_t n) { search(symbols, n, true); }

void hl_find(struct hl_symbol *symbols, size_t n) { search(symbols, n, false); }

// copy_string copies what fits of a string. Behind its end there may be a page that cannot be read.
static void copy_string(struct hl_window *w, char *to, size_t size, uintptr_t at) {
    size_t n = 0;
    while (n < size - 1 && hl_copy(w, to + n, at + n, 1) && to[n] != 0) n++;
    to[n] = 0;
}

bool hl_object_name(uintptr_t address, char *name, size_t size) {
    struct hl_window w = window_at_start();
    struct hl_module o;
    struct hl_extent e;
    uintptr_t at = 0;
    for (bool is_program = true; hl_module_next(&w, &at, &o); is_program = false) {
        if (!hl_module_extent(&w, &o, is_program, &e) || address < e.start || address >= e.end)
            continue;
        copy_string(&w, name, size, o.name);
        return true;
    }
    return false;
}
