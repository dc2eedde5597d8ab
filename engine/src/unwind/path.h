// Collecting the frames of a stack that may have more frames than fit.
#ifndef HL_UNWIND_PATH_H
#define HL_UNWIND_PATH_H

#include "unwind/stack.h"

// hl_path_slot returns where frame number i is stored. Behind the innermost frames is a ring of
// those that came last.
uint32_t hl_path_slot(uint32_t i);

// hl_path_order brings the ring of a column into order, when all frames were stored. If frames were
// left out, the oldest frame of the ring is the last of them. Its index is returned, else 0.
uint32_t hl_path_order(uintptr_t *column, uint32_t frames);

// hl_path_mark returns the frame that stands for frames that are missing, or other if there is no
// memory for it.
uintptr_t hl_path_mark(const char *text, uintptr_t other);

#endif
