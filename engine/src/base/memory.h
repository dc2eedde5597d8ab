// Memory that may not be readable.
#ifndef HL_BASE_MEMORY_H
#define HL_BASE_MEMORY_H

#include "base/platform.h"

enum { HL_PAGE = 4096 }; // larger pages are multiples of it

// struct hl_pieces has two pieces of memory that the kernel has copied: another thread may unmap
// the original at any time. A piece lies within one page.
enum { HL_PIECE = 1024 };
struct hl_pieces {
    struct {
        uintptr_t at; // address of the original; 0: none was copied
        unsigned char bytes[HL_PIECE];
    } of[2];
    bool last; // the one that was used last
};

// struct hl_window is a range of addresses that were found readable. It serves for one walk through
// memory that does not disappear meanwhile, such as the stack of the thread. The kernel is asked
// once for each page. The zero value is an empty window.
struct hl_window {
    uintptr_t lo, hi;
    bool trusting; // pages that were found readable a moment ago still are
    bool unstable; // another thread may unmap the memory at any time: the kernel reads it
    // If it is not NULL, what is outside of lo to hi is unstable, and read piece by piece: a few
    // system calls serve for a walk through a stack. The range itself does not change then.
    struct hl_pieces *pieces;
};

// HL_READABLE is the window of whoever reads only memory that is certainly mapped.
#define HL_READABLE ((struct hl_window){.lo = 0, .hi = UINTPTR_MAX})

// hl_memory_forget makes the kernel be asked again about all pages. It is called now and then, and
// after memory was unmapped.
void hl_memory_forget(void);

// hl_widen moves or widens the window to include the page of addr. It returns false if the page is
// not readable.
bool hl_widen(struct hl_window *w, uintptr_t addr);

// hl_readable reports whether the n bytes at addr can be read.
static inline bool hl_readable(struct hl_window *w, uintptr_t addr, size_t n) {
    if (hl_likely(addr >= w->lo && addr < w->hi && n <= w->hi - addr)) return true;
    if (n == 0 || addr + n < addr) return false;
    for (uintptr_t page = addr & -(uintptr_t)HL_PAGE; page < addr + n; page += HL_PAGE)
        if (!hl_widen(w, page)) return false;
    return true;
}

// hl_within reports whether the word at addr is in the window.
static inline bool hl_within(const struct hl_window *w, uintptr_t addr) {
    return addr >= w->lo && addr < w->hi && sizeof addr <= w->hi - addr;
}

// hl_copy reads n bytes.
bool hl_copy(struct hl_window *w, void *to, uintptr_t addr, size_t n);

// hl_load reads a word.
static inline bool hl_load(struct hl_window *w, uintptr_t addr, uintptr_t *value) {
    bool inside = hl_within(w, addr);
    if (!inside && (w->unstable || w->pieces)) return hl_copy(w, value, addr, sizeof *value);
    if (!inside && !hl_readable(w, addr, sizeof *value)) return false;
    __builtin_memcpy(value, (const void *)addr, sizeof *value);
    return true;
}

#endif
