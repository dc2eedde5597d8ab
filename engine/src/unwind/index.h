// Which object's table describes how to unwind the code at an address.
#ifndef HL_UNWIND_INDEX_H
#define HL_UNWIND_INDEX_H

#include "base/platform.h"

// hl_unwind_table returns the address of the .eh_frame_hdr of the object whose code contains pc,
// or 0. It takes no lock.
uintptr_t hl_unwind_table(uintptr_t pc);

#endif
