// The tables of imports of all loaded objects: the words through which they call functions of
// other objects.
//
// They are written while the loader's lock is held (dl_iterate_phdr), so that no object is unloaded
// meanwhile. No thread waits for one that does that: it may have the loader's lock itself, and the
// program may have a dl_iterate_phdr of its own.
#ifndef HL_BASE_SLOTS_H
#define HL_BASE_SLOTS_H

#include "base/elf.h"

// struct hl_object is an object as dl_iterate_phdr tells of it (struct dl_phdr_info).
struct hl_object {
    uintptr_t base;
    const char *name; // "" for the program
    const struct hl_elf_segment *phdr;
    uint16_t phdr_n;
    uint64_t loads, unloads; // number of objects loaded and unloaded until now
};

// struct hl_replacement is a function whose callers are to call another one.
struct hl_replacement {
    const char *name;
    void *original, *replacement;
};

struct hl_slots {
    uint32_t objects;  // whose tables were read
    uint32_t replaced; // slots that hold a replacement
    uint32_t foreign;  // slots of the same names that hold something else
    uint32_t pending;  // slots that could not be changed yet, because the loader is at work on them
    bool busy;         // nothing was done, because another thread does it
};

// HL_WHATEVER as the original of a replacement means that its slots may hold anything: some
// functions of the C library have other addresses in slots than in the table of symbols.
#define HL_WHATEVER ((void *)1)

// hl_slots_replace makes all slots that hold an original hold its replacement, and hl_slots_restore
// does the opposite. Entries without an original are skipped, and so are the objects for which skip
// returns true; skip may be NULL. The functions may be called again at any time; objects
// that were loaded since are included. Pages that the loader has made read-only are read-only again
// afterwards.
struct hl_slots hl_slots_replace(const struct hl_replacement *all, size_t n,
                                 bool (*skip)(const struct hl_object *o));
struct hl_slots hl_slots_restore(const struct hl_replacement *all, size_t n);

// hl_object_contains reports whether a loadable segment of the object contains an address.
bool hl_object_contains(const struct hl_object *o, uintptr_t address);

// hl_slots_loads returns the number of objects that were loaded until now. Unlike hl_module_list it
// does not take longer in a program with many libraries.
uint64_t hl_slots_loads(void);

// hl_slots_call calls a function that takes a lock of the C library while no thread forks. It
// returns false without a call if some thread always does.
bool hl_slots_call(void (*function)(void));

// hl_slots_forking is called before a fork, and hl_slots_forked behind it, in the parent and in the
// child: in the child a lock of the loader or the C library would stay held for ever if the
// functions above had it in another thread. No lock is held in between, because the program's own
// handlers run then: the functions above wait instead, but not for long.
void hl_slots_forking(void);
void hl_slots_forked(bool is_child);

#endif
