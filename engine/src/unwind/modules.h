// The program and its libraries, as the dynamic linker lists them.
//
// The functions take no lock, because they are used inside malloc: the thread that holds the
// linker's lock may wait for a lock that this thread holds.
#ifndef HL_UNWIND_MODULES_H
#define HL_UNWIND_MODULES_H

#include "base/memory.h"

// struct hl_module is an entry of the dynamic linker's list (struct link_map in glibc and musl).
struct hl_module {
    uintptr_t base; // added to the addresses in the file
    const char *name;
    uintptr_t dynamic; // its dynamic section
    uintptr_t next;
};

// hl_module_next reads the object behind *at in the list, and advances *at, which is zero at first.
// The list may be changing: entries may be missed, and their pointers may be stale. All memory that
// they point to must be read through the window.
bool hl_module_next(struct hl_window *w, uintptr_t *at, struct hl_module *o);

// hl_module_list returns a number that changes when the list does.
uintptr_t hl_module_list(struct hl_window *w);

// hl_module_symbol finds a symbol that the object defines and exports. size may be NULL.
uintptr_t hl_module_symbol(struct hl_window *w, const struct hl_module *o, const char *name,
                           size_t *size);

// hl_unwind_table returns the address of the .eh_frame_hdr of the object whose code contains pc,
// or 0.
uintptr_t hl_unwind_table(uintptr_t pc);

#endif
