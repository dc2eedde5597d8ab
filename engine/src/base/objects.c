#include "base/objects.h"

#include "base/elf.h"

int dl_iterate_phdr(int (*)(struct hl_object *, size_t, void *), void *);

bool hl_loaded_late;

bool hl_object_tables(const struct hl_object *o, struct hl_tables *t) {
    struct hl_window w = HL_READABLE;
    uintptr_t dynamic = 0;
    for (uint16_t i = 0; i < o->phdr_n; i++)
        if (o->phdr[i].type == HL_PT_DYNAMIC) dynamic = o->base + o->phdr[i].vaddr;
    return dynamic != 0 && hl_tables_read(&w, o->base, dynamic, t);
}

// definition returns the address of a function that the object defines, or NULL.
static void *definition(const struct hl_tables *t, const char *name) {
    enum { TYPE = 15, STT_NOTYPE = 0, STT_FUNC = 2 };
    struct hl_window w = HL_READABLE;
    struct hl_elf_symbol s;
    if (!hl_tables_find(&w, t, name, &s)) return NULL;
    bool is_function = (s.info & TYPE) == STT_FUNC || (s.info & TYPE) == STT_NOTYPE;
    return is_function ? (void *)(t->base + s.value) : NULL;
}

bool hl_object_contains(const struct hl_object *o, uintptr_t address) {
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_elf_segment *p = o->phdr + i;
        if (p->type == HL_PT_LOAD && address - o->base - p->vaddr < p->memsz) return true;
    }
    return false;
}

static void set_range(const struct hl_object *o, struct hl_symbol *s) {
    s->object.start = UINTPTR_MAX;
    s->object.end = 0;
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_elf_segment *p = o->phdr + i;
        if (p->type != HL_PT_LOAD) continue;
        uintptr_t start = o->base + p->vaddr, end = start + p->memsz;
        if (start < s->object.start) s->object.start = start;
        if (end > s->object.end) s->object.end = end;
    }
}

struct search {
    struct hl_symbol *symbols;
    size_t n;
    bool following, passed, first_passed;
};

static void find_in(const struct hl_object *o, struct search *s, bool is_program, bool is_engine) {
    struct hl_tables t;
    if (!hl_object_tables(o, &t)) return;
    for (size_t i = 0; i < s->n; i++) {
        struct hl_symbol *symbol = s->symbols + i;
        if (symbol->address) continue;
        symbol->address = definition(&t, symbol->name);
        if (!symbol->address) continue;
        symbol->object.is_program = is_program;
        symbol->object.is_engine = is_engine;
        set_range(o, symbol);
    }
}

static int visit(struct hl_object *o, size_t size, void *to) {
    struct search *s = to;
    (void)size;
    bool is_program = !s->first_passed, is_engine = hl_object_contains(o, (uintptr_t)visit);
    s->first_passed = true;
    bool wanted = hl_loaded_late ? !is_engine : s->passed;
    if (!s->following || wanted) find_in(o, s, is_program, is_engine);
    if (is_engine) s->passed = true;
    return 0;
}

static void search(struct hl_symbol *symbols, size_t n, bool following) {
    struct search s = {.symbols = symbols, .n = n, .following = following};
    for (size_t i = 0; i < n; i++) symbols[i].address = NULL;
    dl_iterate_phdr(visit, &s);
}

void hl_find_following(struct hl_symbol *symbols, size_t n) { search(symbols, n, true); }

void hl_find(struct hl_symbol *symbols, size_t n) { search(symbols, n, false); }

static int loads_visit(struct hl_object *o, size_t size, void *to) {
    (void)size;
    *(uint64_t *)to = o->loads;
    return 1;
}

uint64_t hl_loads(void) {
    uint64_t loads = 0;
    dl_iterate_phdr(loads_visit, &loads);
    return loads;
}

struct visiting {
    bool (*visit)(const struct hl_object *o, void *context);
    void *context;
};

static int visit_any(struct hl_object *o, size_t size, void *to) {
    struct visiting *v = to;
    (void)size;
    return v->visit(o, v->context);
}

void hl_object_visit(bool (*visit)(const struct hl_object *o, void *context), void *context) {
    struct visiting v = {visit, context};
    dl_iterate_phdr(visit_any, &v);
}

struct naming {
    uintptr_t address;
    char *name;
    size_t size;
    bool found;
};

static int name_visit(struct hl_object *o, size_t size, void *to) {
    struct naming *n = to;
    (void)size;
    if (!hl_object_contains(o, n->address)) return 0;
    size_t length = hl_strlen(o->name);
    if (length >= n->size) length = n->size - 1;
    memcpy(n->name, o->name, length);
    n->name[length] = 0;
    n->found = true;
    return 1;
}

bool hl_object_name(uintptr_t address, char *name, size_t size) {
    struct naming n = {.address = address, .name = name, .size = size};
    dl_iterate_phdr(name_visit, &n);
    return n.found;
}
