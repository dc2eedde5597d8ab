#include "base/memory.h"

// probe reports whether the word at addr can be read. The kernel copies a signal mask before it
// looks at what to do with it: with an invalid request the call does nothing, and fails with EFAULT
// only if the mask cannot be read. No other thread can make this read crash.
static bool probe(uintptr_t addr) {
    enum { INVALID_REQUEST = 1000, MASK_SIZE = 8 };
    return hl_syscall4(HL_SYS_rt_sigprocmask, INVALID_REQUEST, addr, 0, MASK_SIZE) != -HL_EFAULT;
}

// probe_works reports whether the system call behaves as probe expects. Some emulators reject the
// request first. They say that an address in the first page, which is never mapped, can be read.
static bool probe_works(void) {
    enum { NOWHERE = 16 }; // not 0: there would be no mask to read
    static int state;      // 0: unknown, 1: works, 2: does not
    int s = __atomic_load_n(&state, __ATOMIC_RELAXED);
    if (s == 0) {
        s = probe(NOWHERE) ? 2 : 1;
        __atomic_store_n(&state, s, __ATOMIC_RELAXED);
    }
    return s == 1;
}

// page_mapped is the next best answer: pages without permission to read are mapped too.
static bool page_mapped(uintptr_t page) {
    unsigned char resident;
    return hl_syscall3(HL_SYS_mincore, page, 1, &resident) == 0;
}

// Pages that were found readable, each with the generation in its lowest bits.
enum { RECENT_BITS = 10, GENERATIONS = HL_PAGE };
static uintptr_t recent[1 << RECENT_BITS];
static uint32_t generation = 1;

void hl_memory_forget(void) {
    if (__atomic_add_fetch(&generation, 1, __ATOMIC_ACQ_REL) % GENERATIONS != 0) return;
    for (size_t i = 0; i < sizeof recent / sizeof *recent; i++)
        __atomic_store_n(&recent[i], 1, __ATOMIC_RELAXED);
}

static bool readable(uintptr_t page) { return probe_works() ? probe(page) : page_mapped(page); }

static bool recently_readable(uintptr_t page) {
    uintptr_t *slot = &recent[page * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS)];
    uintptr_t wanted = page | __atomic_load_n(&generation, __ATOMIC_ACQUIRE) % GENERATIONS;
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) == wanted) return true;
    if (!readable(page)) return false;
    __atomic_store_n(slot, wanted, __ATOMIC_RELAXED);
    return true;
}

bool hl_widen(struct hl_window *w, uintptr_t addr) {
    uintptr_t page = addr & -(uintptr_t)HL_PAGE;
    if (page >= w->lo && page < w->hi) return true;
    if (page == 0 || !(w->trusting ? recently_readable(page) : readable(page))) return false;
    if (page == w->hi) {
        w->hi = page + HL_PAGE;
    } else if (page + HL_PAGE == w->lo) {
        w->lo = page;
    } else {
        w->lo = page;
        w->hi = page + HL_PAGE;
    }
    return true;
}

// kernel_reads reports whether hl_read works. Emulators and sandboxes may not have its system call;
// memory is then checked before it is read, and may disappear in between.
static bool kernel_reads(void) {
    static int state; // 0: unknown, 1: works, 2: does not
    int s = __atomic_load_n(&state, __ATOMIC_RELAXED);
    if (s == 0) {
        s = hl_read(&s, (uintptr_t)&generation, sizeof s) ? 1 : 2;
        __atomic_store_n(&state, s, __ATOMIC_RELAXED);
    }
    return s == 1;
}

// copy_pieces reads n bytes by pieces.
static bool copy_pieces(struct hl_pieces *p, char *to, uintptr_t addr, size_t n) {
    if (addr + n < addr) return false;
    while (n > 0) {
        uintptr_t at = addr & -(uintptr_t)HL_PIECE;
        if (at == 0) return false;
        if (p->of[p->last].at != at) p->last = !p->last;
        if (p->of[p->last].at != at) {
            p->of[p->last].at = hl_read(p->of[p->last].bytes, at, HL_PIECE) ? at : 0;
            if (p->of[p->last].at == 0) return false;
        }
        size_t from = addr - at, part = n < HL_PIECE - from ? n : HL_PIECE - from;
        memcpy(to, p->of[p->last].bytes + from, part);
        to += part;
        addr += part;
        n -= part;
    }
    return true;
}

bool hl_copy(struct hl_window *w, void *to, uintptr_t addr, size_t n) {
    bool inside = addr >= w->lo && addr < w->hi && n <= w->hi - addr;
    if (!inside && w->pieces && kernel_reads()) return copy_pieces(w->pieces, to, addr, n);
    if (w->unstable && kernel_reads()) return hl_read(to, addr, n);
    if (!hl_readable(w, addr, n)) return false;
    memcpy(to, (const void *)addr, n);
    return true;
}
