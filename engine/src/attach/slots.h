// The tables of imports of all loaded objects: the words through which they call functions of
// other objects.
#ifndef HL_ATTACH_SLOTS_H
#define HL_ATTACH_SLOTS_H

#include "base/objects.h"

struct hl_slots {
    uint32_t objects;  // whose tables were read
    uint32_t replaced; // slots that hold a replacement
    uint32_t foreign;  // slots of the same names that hold something else
    uint32_t pending;  // slots that could not be changed yet, because the loader is at work on them
};

// hl_slots_replace makes all slots that hold an original hold its replacement, and hl_slots_restore
// does the opposite. Entries without an original are skipped. The functions may be called again at
// any time; objects that were loaded since are included. Only the helper calls them.
struct hl_slots hl_slots_replace(const struct hl_replacement *all, size_t n);
struct hl_slots hl_slots_restore(const struct hl_replacement *all, size_t n);

// hl_slots_lock is held while the loader's list is read. A thread that forks takes it: in the child
// the loader's own lock would otherwise stay held for ever.
extern struct hl_lock hl_slots_lock;

#endif
