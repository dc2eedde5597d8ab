#include "base/objects.h"

int dl_iterate_phdr(int (*)(struct hl_object *, size_t, void *), void *);

struct dynamic {
    int64_t tag;
    uint64_t value;
};
enum {
    DT_PLTRELSZ = 2,
    DT_HASH = 4,
    DT_RELA = 7,
    DT_RELASZ = 8,
    DT_JMPREL = 23,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_GNU_HASH = 0x6ffffef5,
    DT_VERSYM = 0x6ffffff0
};

struct symbol {
    uint32_t name;
    unsigned char info, other;
    uint16_t section;
    uint64_t value, size;
};
enum { STT_NOTYPE = 0, STT_FUNC = 2, VERSION_HIDDEN = 0x8000 };

struct relocation {
    uint64_t offset, info;
    int64_t addend;
};
#if defined(__x86_64__)
enum { R_GLOB_DAT = 6, R_JUMP_SLOT = 7 };
#else
enum { R_GLOB_DAT = 1025, R_JUMP_SLOT = 1026 };
#endif

struct tables {
    uintptr_t base;
    const char *strings;
    const struct symbol *symbols;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions;
    const struct relocation *plt, *rela;
    uint64_t plt_size, rela_size;
};

// table returns the address of a table. glibc has added the base of the object to the value, musl
// has not.
static const void *table(const struct hl_object *o, uint64_t value) {
    return (const void *)(value < o->base ? value + o->base : value);
}

static bool tables_of(const struct hl_object *o, struct tables *t) {
    const struct dynamic *d = NULL;
    for (uint16_t i = 0; i < o->phdr_n; i++)
        if (o->phdr[i].type == HL_PT_DYNAMIC)
            d = (const struct dynamic *)(o->base + o->phdr[i].vaddr);
    *t = (struct tables){.base = o->base};
    if (!d) return false;
    for (; d->tag; d++) {
        switch ((uint64_t)d->tag) {
        case DT_STRTAB: t->strings = table(o, d->value); break;
        case DT_SYMTAB: t->symbols = table(o, d->value); break;
        case DT_GNU_HASH: t->gnu_hash = table(o, d->value); break;
        case DT_HASH: t->hash = table(o, d->value); break;
        case DT_JMPREL: t->plt = table(o, d->value); break;
        case DT_PLTRELSZ: t->plt_size = d->value; break;
        case DT_RELA: t->rela = table(o, d->value); break;
        case DT_RELASZ: t->rela_size = d->value; break;
        case DT_VERSYM: t->versions = table(o, d->value); break;
        }
    }
    return t->strings && t->symbols;
}

// is_definition reports whether symbol i is a function with the given name in its default version.
static bool is_definition(const struct tables *t, uint32_t i, const char *name) {
    const struct symbol *s = t->symbols + i;
    int type = s->info & 15;
    if (s->section == 0 || s->value == 0 || (type != STT_FUNC && type != STT_NOTYPE)) return false;
    if (t->versions && (t->versions[i] & VERSION_HIDDEN)) return false;
    return hl_equal(t->strings + s->name, name);
}

// find_gnu searches the GNU hash table. It has a header (number of buckets, index of the first
// symbol, number of words and shift of the filter), the filter, the buckets and the chains. The
// last hash of a chain has its lowest bit set.
static uint32_t find_gnu(const struct tables *t, const char *name) {
    uint32_t want = 5381;
    for (const char *s = name; *s; s++) want = want * 33 + (unsigned char)*s;
    const uint32_t *h = t->gnu_hash;
    if (h[0] == 0) return 0;
    const uint32_t *buckets = h + 4 + 2 * (size_t)h[2], *chains = buckets + h[0];
    uint32_t i = buckets[want % h[0]];
    for (; i >= h[1] && i != 0; i++) {
        uint32_t hash = chains[i - h[1]];
        if ((hash | 1) == (want | 1) && is_definition(t, i, name)) return i;
        if (hash & 1) break;
    }
    return 0;
}

// find_sysv searches the older hash table: number of buckets, number of symbols, buckets, chains.
static uint32_t find_sysv(const struct tables *t, const char *name) {
    uint32_t hash = 0;
    for (const char *s = name; *s; s++) {
        hash = (hash << 4) + (unsigned char)*s;
        hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
    }
    const uint32_t *buckets = t->hash + 2, *chains = buckets + t->hash[0];
    if (t->hash[0] == 0) return 0;
    for (uint32_t i = buckets[hash % t->hash[0]]; i != 0; i = chains[i])
        if (is_definition(t, i, name)) return i;
    return 0;
}

static void *definition(const struct tables *t, const char *name) {
    uint32_t i = t->gnu_hash ? find_gnu(t, name) : t->hash ? find_sysv(t, name) : 0;
    return i ? (void *)(t->base + t->symbols[i].value) : NULL;
}

static bool contains(const struct hl_object *o, uintptr_t address) {
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_phdr *p = o->phdr + i;
        if (p->type == HL_PT_LOAD && address - o->base - p->vaddr < p->memory_size) return true;
    }
    return false;
}

static void set_range(const struct hl_object *o, struct hl_symbol *s) {
    s->object.start = UINTPTR_MAX;
    s->object.end = 0;
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_phdr *p = o->phdr + i;
        if (p->type != HL_PT_LOAD) continue;
        uintptr_t start = o->base + p->vaddr, end = start + p->memory_size;
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
    struct tables t;
    if (!tables_of(o, &t)) return;
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
    bool is_program = !s->first_passed, is_engine = contains(o, (uintptr_t)visit);
    s->first_passed = true;
    if (!s->following || s->passed) find_in(o, s, is_program, is_engine);
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

// --- tables of imports ---

struct replacing {
    const struct hl_replacement *all;
    size_t n;
    const void *definer;
    bool unbound;
    uint64_t loads;
};

// make_writable makes the page of a slot writable if the loader has made it read-only. It stays
// writable: the loader may still write there.
static void make_writable(const struct hl_object *o, uintptr_t slot) {
    enum { SMALLEST = 4096, LARGEST = 65536 };
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_phdr *p = o->phdr + i;
        if (p->type != HL_PT_RELRO || slot - o->base - p->vaddr >= p->memory_size) continue;
        for (uintptr_t page = SMALLEST; page <= LARGEST; page *= 4)
            if (hl_syscall3(HL_SYS_mprotect, slot & ~(page - 1), page,
                            HL_PROT_READ | HL_PROT_WRITE) == 0)
                return;
    }
}

static void replace_slot(const struct hl_object *o, const struct tables *t,
                         const struct relocation *r, const struct replacing *to) {
    uint32_t type = (uint32_t)r->info;
    if (type != R_GLOB_DAT && type != R_JUMP_SLOT) return;
    const char *name = t->strings + t->symbols[r->info >> 32].name;
    void **slot = (void **)(o->base + r->offset);
    for (size_t i = 0; i < to->n; i++) {
        const struct hl_replacement *a = &to->all[i];
        if (!a->original || !hl_equal(name, a->name)) continue;
        bool unbound = to->unbound && type == R_JUMP_SLOT && contains(o, (uintptr_t)*slot);
        if (*slot != a->original && !unbound) return;
        make_writable(o, (uintptr_t)slot);
        __atomic_store_n(slot, a->replacement, __ATOMIC_RELEASE);
        return;
    }
}

static int replace_visit(struct hl_object *o, size_t size, void *argument) {
    struct replacing *to = argument;
    struct tables t;
    (void)size;
    to->loads = o->loads;
    bool own = contains(o, (uintptr_t)replace_visit) || contains(o, (uintptr_t)to->definer);
    if (own || !tables_of(o, &t)) return 0;
    for (uint64_t i = 0; t.plt && i < t.plt_size / sizeof *t.plt; i++)
        replace_slot(o, &t, t.plt + i, to);
    for (uint64_t i = 0; t.rela && i < t.rela_size / sizeof *t.rela; i++)
        replace_slot(o, &t, t.rela + i, to);
    return 0;
}

uint64_t hl_replace(const struct hl_replacement *all, size_t n, const void *definer, bool unbound) {
    struct replacing to = {all, n, definer, unbound, 0};
    dl_iterate_phdr(replace_visit, &to);
    return to.loads;
}

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

struct naming {
    uintptr_t address;
    char *name;
    size_t size;
    bool found;
};

static int name_visit(struct hl_object *o, size_t size, void *to) {
    struct naming *n = to;
    (void)size;
    if (!contains(o, n->address)) return 0;
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
