// Which process is recorded.
#ifndef HL_PROCESS_TARGET_H
#define HL_PROCESS_TARGET_H

#include "base/platform.h"

// hl_target_claim reports whether this process image is recorded. If children are not recorded, the
// first program that is not a wrapper (sh, env, timeout, …) writes its process number into the
// environment, which its children inherit.
bool hl_target_claim(void);

// hl_target_read sets hl_process, except its page size.
void hl_target_read(void);

#endif
