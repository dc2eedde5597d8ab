// The functions that are replaced while the engine is attached.
#ifndef HL_ATTACH_HOOKS_H
#define HL_ATTACH_HOOKS_H

#include "attach/control.h"
#include "base/slots.h"

// hl_hooked_find finds the functions. It returns NULL, or the reason why the allocator of the
// program cannot be replaced.
const char *hl_hooked_find(struct hl_control *c);

// hl_hooked_replace puts the engine's functions into the tables of imports, of new objects too.
// hl_hooked_restore puts the originals back.
struct hl_slots hl_hooked_replace(void);
struct hl_slots hl_hooked_restore(void);

#endif
