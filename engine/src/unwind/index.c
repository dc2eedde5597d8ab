#include "unwind/index.h"

#include "base/objects.h"

// The dynamic linker of glibc has it from 2.35 on. It may be called at any time.
struct found {
    unsigned long long flags;
    uintptr_t start, end;
    void *object;
    uintptr_t table;
    unsigned long long reserved[7];
};
extern int _dl_find_object(void *pc, struct found *result) __attribute__((weak));

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

static void add_object(struct hl_window *w, struct index *x, const struct hl_module *o,
                       bool is_program) {
    struct hl_extent e;
    if (!hl_module_extent(w, o, is_program, &e)) return;
    if (e.unwind_table < e.start || e.unwind_table >= e.end) return;
    x->of[x->n].lo = e.start;
    x->of[x->n].hi = e.end;
    x->of[x->n].table = e.unwind_table;
    x->n++;
}

static void make(struct index *x, uintptr_t list) {
    struct hl_window w = {.unstable = true};
    __atomic_store_n(&x->version, x->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    struct hl_module o;
    uintptr_t at = 0;
    x->n = 0;
    for (bool program = true; x->n < MAX_INDEXED && hl_module_next(&w, &at, &o); program = false)
        add_object(&w, x, &o, program);
    x->list = list;
    __atomic_store_n(&x->version, x->version + 1, __ATOMIC_RELEASE);
}

// update makes the index again if the list has changed. It returns false if it has not, or if
// another thread does it.
static bool update(void) {
    uintptr_t list = hl_module_list();
    if (__atomic_exchange_n(&is_being_made, true, __ATOMIC_ACQUIRE)) return false;
    bool changed = list != indexes[current].list;
    if (changed) {
        make(&indexes[!current], list);
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

uintptr_t hl_unwind_table(uintptr_t pc) {
    if (&_dl_find_object != NULL) {
        struct found f;
        return _dl_find_object((void *)pc, &f) == 0 ? f.table : 0;
    }
    uintptr_t table = lookup(pc);
    return table == 0 && update() ? lookup(pc) : table;
}
