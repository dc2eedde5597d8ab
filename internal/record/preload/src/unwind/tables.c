#include "unwind/tables.h"

extern unsigned long getauxval(unsigned long type);

enum {
    LARGE = 8192, // functions; the pages of smaller tables, some hundred KiB, are not released
    MAX_TABLES = 64,
};

static uintptr_t page;      // size of a page
static struct hl_lock lock; // protects the following
static uint32_t unloading;  // calls that unload code
static uint32_t n;
static struct table {
    uintptr_t header; // its address
    uintptr_t lo, hi; // contain the header and all entries that were read since pages were released
} tables[MAX_TABLES];

void hl_tables_init(void) {
    enum { AT_PAGESZ = 6 };
    page = getauxval(AT_PAGESZ);
}

void hl_tables_used(const struct hl_fde *fde) {
    if (fde->functions < LARGE || !hl_trylock(&lock)) return;
    struct table *t = tables;
    while (t < tables + n && t->header != fde->header) t++;
    if (t == tables + n && n < MAX_TABLES) {
        *t = (struct table){fde->header, fde->header, fde->header};
        n++;
    }
    if (t < tables + n) {
        if (fde->address < t->lo) t->lo = fde->address;
        if (fde->address > t->hi) t->hi = fde->address;
    }
    hl_unlock(&lock);
}

// is_clean reports whether the file has what is in the pages from lo to hi. The format of pagemap:
// Documentation/admin-guide/mm/pagemap.rst of Linux.
static bool is_clean(long pagemap, uintptr_t lo, uintptr_t hi) {
    enum { SEEK_SET, MANY = 512 };
    const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
                   of_file = UINT64_C(1) << 61;
    static uint64_t entries[MANY];
    size_t left = (hi - lo) / page, seen = 0;
    if (hl_syscall3(HL_SYS_lseek, pagemap, lo / page * sizeof *entries, SEEK_SET) < 0) return false;
    while (left > 0) {
        size_t count = left < MANY ? left : MANY, size = count * sizeof *entries;
        if (hl_syscall3(HL_SYS_read, pagemap, entries, size) != (long)size) return false;
        for (size_t i = 0; i < count; i++) {
            if (!(entries[i] & (present | swapped))) continue;
            if (!(entries[i] & of_file)) return false;
            seen++;
        }
        left -= count;
    }
    return seen > 0; // else these are not the pages that were read
}

static void release(const struct table *t, long pagemap) {
    enum { MADV_DONTNEED = 4 };
    uintptr_t lo = (t->lo + page - 1) & -page, hi = t->hi & -page;
    if (lo < hi && is_clean(pagemap, lo, hi))
        hl_syscall3(HL_SYS_madvise, lo, hi - lo, MADV_DONTNEED);
}

void hl_tables_release(void) {
    hl_lock(&lock);
    if (n > 0 && unloading == 0) {
        long pagemap =
            hl_syscall4(HL_SYS_openat, HL_AT_FDCWD, "/proc/thread-self/pagemap", HL_O_CLOEXEC, 0);
        for (uint32_t i = 0; i < n && pagemap >= 0; i++) release(&tables[i], pagemap);
        if (pagemap >= 0) hl_syscall1(HL_SYS_close, pagemap);
        n = 0;
    }
    hl_unlock(&lock);
}

static void count(uint32_t change) {
    uint64_t signals = hl_signals_block();
    hl_lock(&lock);
    unloading += change;
    n = 0;
    hl_unlock(&lock);
    hl_signals_restore(signals);
}

void hl_tables_unloading(void) { count(1); }

void hl_tables_unloaded(void) { count(-1u); }

void hl_tables_forked(void) {
    lock.state = 0;
    n = 0;
}
