#include "unwind/tables.h"

extern unsigned long getauxval(unsigned long type);

enum {
    LARGE = 8192, // functions; the pages of smaller tables, some hundred KiB, are not released
    MAX_TABLES = 64,
    BEGIN = 12, // bytes; they tell the place and the number of the entries
};

static uintptr_t page; // size of a page

static struct hl_lock lock; // protects the following; nobody waits for it
static uint32_t n;
static struct table {
    uintptr_t header; // its address
    char begin[BEGIN];
    uintptr_t lo, hi; // contain the header and all entries that were read since pages were released
} tables[MAX_TABLES];

void hl_tables_init(void) {
    enum { AT_PAGESZ = 6 };
    page = getauxval(AT_PAGESZ);
}

// --- notes ---

void hl_tables_used(const struct hl_fde *fde) {
    if (fde->functions < LARGE || !hl_trylock(&lock)) return;
    struct table *t = tables;
    while (t < tables + n && t->header != fde->header) t++;
    if (t == tables + n && n < MAX_TABLES) {
        *t = (struct table){.header = fde->header, .lo = fde->header, .hi = fde->header};
        memcpy(t->begin, (const void *)fde->header, BEGIN);
        n++;
    }
    if (t < tables + n) {
        if (fde->address < t->lo) t->lo = fde->address;
        if (fde->address > t->hi) t->hi = fde->address;
    }
    hl_unlock(&lock);
}

void hl_tables_forget(void) {
    uint64_t signals = hl_signals_block();
    if (hl_trylock(&lock)) {
        n = 0;
        hl_unlock(&lock);
    }
    hl_signals_restore(signals);
}

// --- release ---

// is_clean reports whether the file has what is in the pages that the entries of pagemap describe,
// and whether any is in memory. The format: Documentation/admin-guide/mm/pagemap.rst of Linux.
static bool is_clean(const uint64_t *entries, size_t count) {
    const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
                   of_file = UINT64_C(1) << 61;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!(entries[i] & (present | swapped))) continue;
        if (!(entries[i] & of_file)) return false;
        any = true;
    }
    return any;
}

static bool is_there(const struct table *t) {
    char begin[BEGIN];
    return hl_read(begin, t->header, BEGIN) && memcmp(begin, t->begin, BEGIN) == 0;
}

static void release(const struct table *t, long pagemap) {
    enum { SEEK_SET, MADV_DONTNEED = 4, MANY = 512 };
    static uint64_t entries[MANY];
    uintptr_t lo = (t->lo + page - 1) & -page, hi = t->hi & -page;
    for (uintptr_t at = lo; at < hi; at += MANY * page) {
        size_t count = (hi - at) / page < MANY ? (hi - at) / page : MANY;
        size_t size = count * sizeof *entries;
        if (hl_syscall3(HL_SYS_lseek, pagemap, at / page * sizeof *entries, SEEK_SET) < 0 ||
            hl_syscall3(HL_SYS_read, pagemap, entries, size) != (long)size || !is_there(t))
            return;
        if (is_clean(entries, count)) hl_syscall3(HL_SYS_madvise, at, count * page, MADV_DONTNEED);
    }
}

// Code is not unloaded while pages are released: dlclose waits, but not for long. In a child that
// was forked by a system call, the thread that releases may be missing.
static uint32_t releasing, unloading; // the latter is the number of calls of dlclose

void hl_tables_release(void) {
    if (!hl_trylock(&lock)) return;
    __atomic_store_n(&releasing, 1, __ATOMIC_SEQ_CST);
    if (n > 0 && __atomic_load_n(&unloading, __ATOMIC_SEQ_CST) == 0) {
        long pagemap =
            hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, "/proc/thread-self/pagemap", HL_O_CLOEXEC, 0);
        for (uint32_t i = 0; i < n && pagemap >= 0; i++) release(&tables[i], pagemap);
        if (pagemap >= 0) hl_syscall1(HL_SYS_close, pagemap);
        n = 0;
    }
    __atomic_store_n(&releasing, 0, __ATOMIC_SEQ_CST);
    hl_unlock(&lock);
}

void hl_tables_unloading(void) {
    enum { TRIES = 10000 };
    __atomic_fetch_add(&unloading, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < TRIES && __atomic_load_n(&releasing, __ATOMIC_SEQ_CST) != 0; i++)
        hl_syscall0(HL_SYS_sched_yield);
}

void hl_tables_unloaded(void) { __atomic_fetch_sub(&unloading, 1, __ATOMIC_SEQ_CST); }

void hl_tables_forked(void) {
    lock.state = 0;
    n = 0;
    releasing = 0;
}
