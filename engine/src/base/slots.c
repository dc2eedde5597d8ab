#include "base/slots.h"

#include "base/pages.h"

int dl_iterate_phdr(int (*)(struct hl_object *, size_t, void *), void *);

// struct relocation is an entry of a table of relocations.
struct relocation {
    uint64_t offset, info;
    int64_t addend;
};
enum {
#if defined(__x86_64__)
    R_ABSOLUTE = 1,
    R_GLOB_DAT = 6,
    R_JUMP_SLOT = 7,
#else
    R_ABSOLUTE = 257,
    R_GLOB_DAT = 1025,
    R_JUMP_SLOT = 1026,
#endif
};

// lock is held while the loader's list is read, or its lock is waited for. Nobody waits for it.
static struct hl_lock lock;
static uint32_t reading; // is not 0 while the loader's lock is held
static uint32_t forks;   // threads that are about to fork, or have just done so

struct walk {
    const struct hl_replacement *all;
    size_t n;
    bool (*skip)(const struct hl_object *o);
    bool restore;
    struct hl_slots found;
};

bool hl_object_contains(const struct hl_object *o, uintptr_t address) {
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_elf_segment *p = o->phdr + i;
        if (p->type == HL_PT_LOAD && address - o->base - p->vaddr < p->memsz) return true;
    }
    return false;
}

// read_tables reads the tables of an object. It returns false if it has none.
static bool read_tables(const struct hl_object *o, struct hl_tables *t) {
    struct hl_window w = HL_READABLE;
    uintptr_t dynamic = 0;
    for (uint16_t i = 0; i < o->phdr_n; i++)
        if (o->phdr[i].type == HL_PT_DYNAMIC) dynamic = o->base + o->phdr[i].vaddr;
    return dynamic != 0 && hl_tables_read(&w, o->base, dynamic, t);
}

// is_protected reports whether the loader makes a slot read-only after it has relocated the object.
static bool is_protected(const struct hl_object *o, uintptr_t slot) {
    for (uint16_t i = 0; i < o->phdr_n; i++) {
        const struct hl_elf_segment *p = o->phdr + i;
        uintptr_t start = (o->base + p->vaddr) & -(uintptr_t)HL_PAGE;
        uintptr_t end = (o->base + p->vaddr + p->memsz) & -(uintptr_t)HL_PAGE;
        if (p->type == HL_PT_RELRO && slot >= start && slot < end) return true;
    }
    return false;
}

// write_slot changes a slot. If its page must be read-only but is not, another thread is loading
// the object: protecting the page now would let the loader crash.
static bool write_slot(const struct hl_object *o, void **slot, void *value) {
    uintptr_t page = (uintptr_t)slot & -(uintptr_t)HL_PAGE;
    bool protected = is_protected(o, (uintptr_t)slot);
    if (protected) {
        if (!hl_page_is_read_only(page)) return false;
        if (hl_syscall3(HL_SYS_mprotect, page, HL_PAGE, HL_PROT_READ | HL_PROT_WRITE) != 0)
            return false;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (protected) hl_syscall3(HL_SYS_mprotect, page, HL_PAGE, HL_PROT_READ);
    return true;
}

// is_unbound reports whether a slot holds the address of the code of its own object that binds it
// at the first call.
static bool is_unbound(const struct hl_object *o, const struct hl_elf_symbol *symbol, uint32_t type,
                       const void *value) {
    bool is_own = symbol->section != 0 && o->base + symbol->value == (uintptr_t)value;
    return type == R_JUMP_SLOT && !is_own && hl_object_contains(o, (uintptr_t)value);
}

static void replace_in(struct walk *w, const struct hl_object *o, void **slot, bool unbound,
                       const struct hl_replacement *r) {
    void *value = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (value == r->replacement) {
        w->found.replaced++;
    } else if (value == r->original || r->original == HL_WHATEVER || unbound) {
        if (write_slot(o, slot, r->replacement))
            w->found.replaced++;
        else
            w->found.pending++;
    } else {
        w->found.foreign++;
        if ((uintptr_t)value < o->base) w->found.pending++; // not relocated yet
    }
}

static void restore_in(struct walk *w, const struct hl_object *o, void **slot,
                       const struct hl_replacement *r) {
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) != r->replacement) return;
    if (write_slot(o, slot, r->original)) return;
    w->found.replaced++;
    w->found.pending++;
}

static const struct hl_replacement *named(const struct walk *w, const char *name) {
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].original && hl_equal(name, w->all[i].name)) return &w->all[i];
    return NULL;
}

static void visit_slot(struct walk *w, const struct hl_object *o, const struct hl_tables *t,
                       const struct relocation *r) {
    uint32_t type = (uint32_t)r->info;
    if (type != R_GLOB_DAT && type != R_JUMP_SLOT && !(type == R_ABSOLUTE && r->addend == 0))
        return;
    const struct hl_elf_symbol *symbol = (const struct hl_elf_symbol *)t->symbols + (r->info >> 32);
    const struct hl_replacement *to = named(w, (const char *)t->names + symbol->name);
    void **slot = (void **)(o->base + r->offset);
    if (to == NULL || (uintptr_t)slot % sizeof *slot != 0) return;
    if (w->restore)
        restore_in(w, o, slot, to);
    else
        replace_in(w, o, slot, is_unbound(o, symbol, type, *slot), to);
}

static void visit_table(struct walk *w, const struct hl_object *o, const struct hl_tables *t,
                        uintptr_t table, uint64_t size) {
    const struct relocation *r = (const struct relocation *)table;
    for (uint64_t i = 0; table != 0 && i < size / sizeof *r; i++) visit_slot(w, o, t, r + i);
}

// is_loader reports whether the object is the dynamic linker, which must not call the engine.
static bool is_loader(const struct hl_object *o) {
    const char *base = hl_base_name(o->name ? o->name : "");
    return hl_has_prefix(base, "ld-linux") || hl_has_prefix(base, "ld-2.") ||
           hl_has_prefix(base, "ld.so");
}

static int visit_object(struct hl_object *o, size_t size, void *context) {
    struct walk *w = context;
    struct hl_tables t;
    (void)size;
    __atomic_store_n(&reading, 1, __ATOMIC_SEQ_CST);
    if (hl_object_contains(o, (uintptr_t)visit_object) || is_loader(o)) return 0;
    if (w->skip && w->skip(o)) return 0;
    if (!read_tables(o, &t)) return 0;
    w->found.objects++;
    visit_table(w, o, &t, t.plt, t.plt_size);
    visit_table(w, o, &t, t.rela, t.rela_size);
    return 0;
}

// begin waits until no thread forks, but not for long, and takes the lock. It returns false if
// another thread has it.
static bool begin(uint64_t *signals) {
    enum { TRIES = 1000, PAUSE = 1000000 };
    for (int i = 0; i < TRIES && __atomic_load_n(&forks, __ATOMIC_SEQ_CST) != 0; i++)
        hl_sleep(PAUSE);
    *signals = hl_signals_block();
    if (hl_trylock(&lock)) return true;
    hl_signals_restore(*signals);
    return false;
}

static void end(uint64_t signals) {
    __atomic_store_n(&reading, 0, __ATOMIC_SEQ_CST);
    hl_unlock(&lock);
    hl_signals_restore(signals);
}

static struct hl_slots visit(struct walk w) {
    uint64_t signals;
    if (!begin(&signals)) return (struct hl_slots){.busy = true};
    hl_pages_forget();
    dl_iterate_phdr(visit_object, &w);
    end(signals);
    return w.found;
}

static int visit_first(struct hl_object *o, size_t size, void *loads) {
    __atomic_store_n(&reading, 1, __ATOMIC_SEQ_CST);
    (void)size;
    *(uint64_t *)loads = o->loads;
    return 1;
}

uint64_t hl_slots_loads(void) {
    uint64_t signals, loads = 0;
    if (!begin(&signals)) return 0;
    dl_iterate_phdr(visit_first, &loads);
    end(signals);
    return loads;
}

bool hl_slots_call(void (*function)(void)) {
    uint64_t signals;
    if (!begin(&signals)) return false;
    bool alone = __atomic_load_n(&forks, __ATOMIC_SEQ_CST) == 0;
    __atomic_store_n(&reading, 1, __ATOMIC_SEQ_CST);
    if (alone) function();
    end(signals);
    return alone;
}

// wait_a_little waits for the thread that has the lock. Reading the tables of hundreds of libraries
// takes milliseconds. That thread may also wait for the loader's lock, which another thread may
// have for long.
static void wait_a_little(void) {
    enum { PAUSE = 100000 };
    if (__atomic_load_n(&reading, __ATOMIC_SEQ_CST) != 0)
        hl_sleep(PAUSE);
    else
        hl_syscall0(HL_SYS_sched_yield);
}

void hl_slots_forking(void) {
    enum { TRIES = 10000 };
    __atomic_fetch_add(&forks, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < TRIES && __atomic_load_n(&lock.state, __ATOMIC_SEQ_CST) != 0; i++)
        wait_a_little();
}

void hl_slots_forked(bool is_child) {
    if (is_child)
        lock.state = reading = forks = 0;
    else
        __atomic_fetch_sub(&forks, 1, __ATOMIC_SEQ_CST);
}

struct hl_slots hl_slots_replace(const struct hl_replacement *all, size_t n,
                                 bool (*skip)(const struct hl_object *o)) {
    return visit((struct walk){.all = all, .n = n, .skip = skip});
}

struct hl_slots hl_slots_restore(const struct hl_replacement *all, size_t n) {
    return visit((struct walk){.all = all, .n = n, .restore = true});
}
