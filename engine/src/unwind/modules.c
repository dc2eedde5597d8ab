#include "unwind/modules.h"

#include "base/elf.h"

// From the C library and its dynamic linker. musl has _dl_debug_addr; glibc has _r_debug, and
// _dl_find_object from 2.35 on. The last one may be called at any time.
struct list {
    int version;
    uintptr_t first;
};
struct found {
    unsigned long long flags;
    uintptr_t start, end;
    void *object;
    uintptr_t table;
    unsigned long long reserved[7];
};
extern struct list _r_debug __attribute__((weak));
extern struct list *_dl_debug_addr __attribute__((weak));
extern int _dl_find_object(void *pc, struct found *result) __attribute__((weak));
extern unsigned long getauxval(unsigned long type);

enum { AT_PHDR = 3, AT_PHNUM = 5 };

// --- the list ---

bool hl_module_next(struct hl_window *w, uintptr_t *at, struct hl_module *o) {
    uintptr_t next = 0;
    if (*at != 0) {
        if (!hl_load(w, *at + offsetof(struct hl_module, next), &next)) return false;
    } else if (&_r_debug != NULL) {
        next = _r_debug.first;
    } else if (&_dl_debug_addr != NULL && _dl_debug_addr != NULL) {
        next = _dl_debug_addr->first;
    }
    *at = next;
    return next != 0 && hl_copy(w, o, next, sizeof *o);
}

uintptr_t hl_module_list(struct hl_window *w) {
    enum { MAX_LIST = 4096 };
    struct hl_module o;
    uintptr_t sum = 1, at = 0;
    for (int i = 0; i < MAX_LIST && hl_module_next(w, &at, &o); i++)
        sum = (sum ^ at ^ o.base ^ o.dynamic) * 0x9e3779b97f4a7c15;
    return sum;
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

// --- tables of old C libraries ---

// Where the dynamic linker cannot be asked, this file has an index of the objects. It is made again
// when an address is not found and the list has changed. A reader does not wait: there are two, and
// the old one is used while the other one is made.
enum { MAX_INDEXED = 1024 };
static struct index {
    uint32_t version; // odd while it is being made
    uint32_t n;
    uintptr_t list; // a checksum of the list that it was made of
    struct {
        uintptr_t lo, hi, table;
    } of[MAX_INDEXED];
} indexes[2];
static uint32_t current;   // the one to use
static bool is_being_made; // the other one

// segments finds the program headers of an object. Those of the program, the first one of the list,
// are told by the kernel; those of a library follow its ELF header.
static bool segments(struct hl_window *w, const struct hl_module *o, bool program, uintptr_t *at,
                     size_t *n) {
    if (program) {
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

static void add_object(struct hl_window *w, struct index *x, const struct hl_module *o,
                       bool program) {
    uintptr_t at, lo = UINTPTR_MAX, hi = 0, table = 0;
    size_t n;
    if (x->n == MAX_INDEXED || !segments(w, o, program, &at, &n)) return;
    for (size_t i = 0; i < n; i++) {
        struct hl_elf_segment s;
        if (!hl_copy(w, &s, at + i * sizeof s, sizeof s)) return;
        uintptr_t start = o->base + s.vaddr;
        if (s.type == HL_PT_EH_FRAME) table = start;
        if (s.type != HL_PT_LOAD) continue;
        if (start < lo) lo = start;
        if (start + s.memsz > hi) hi = start + s.memsz;
    }
    if (table < lo || table >= hi) return;
    x->of[x->n].lo = lo;
    x->of[x->n].hi = hi;
    x->of[x->n].table = table;
    x->n++;
}

static void make(struct hl_window *w, struct index *x, uintptr_t list) {
    __atomic_store_n(&x->version, x->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    struct hl_module o;
    uintptr_t at = 0;
    x->n = 0;
    for (bool program = true; hl_module_next(w, &at, &o); program = false) {
        add_object(w, x, &o, program);
        if (x->n == MAX_INDEXED) break;
    }
    x->list = list;
    __atomic_store_n(&x->version, x->version + 1, __ATOMIC_RELEASE);
}

// update makes the index again if the list has changed. It returns false if it has not, or if
// another thread does it.
static bool update(void) {
    struct hl_window unstable = {.unstable = true}, *w = &unstable;
    uintptr_t list = hl_module_list(w);
    if (__atomic_exchange_n(&is_being_made, true, __ATOMIC_ACQUIRE)) return false;
    bool changed = list != indexes[current].list;
    if (changed) {
        make(w, &indexes[!current], list);
        __atomic_store_n(&current, !current, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_being_made, false, __ATOMIC_RELEASE);
    return changed;
}

static uintptr_t lookup(uintptr_t pc) {
    const struct index *x = &indexes[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
    uint32_t version = __atomic_load_n(&x->version, __ATOMIC_ACQUIRE);
    uintptr_t table = 0;
    if (version & 1) return 0;
    uint32_t n = __atomic_load_n(&x->n, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n && i < MAX_INDEXED && table == 0; i++) {
        if (pc >= __atomic_load_n(&x->of[i].lo, __ATOMIC_RELAXED) &&
            pc < __atomic_load_n(&x->of[i].hi, __ATOMIC_RELAXED))
            table = __atomic_load_n(&x->of[i].table, __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&x->version, __ATOMIC_RELAXED) == version ? table : 0;
}

// --- tables ---

uintptr_t hl_unwind_table(uintptr_t pc) {
    if (&_dl_find_object != NULL) {
        struct found f;
        return _dl_find_object((void *)pc, &f) == 0 ? f.table : 0;
    }
    uintptr_t table = lookup(pc);
    return table == 0 && update() ? lookup(pc) : table;
}
