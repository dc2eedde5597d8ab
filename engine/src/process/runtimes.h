// The runtimes that the engine knows.
#ifndef HL_PROCESS_RUNTIMES_H
#define HL_PROCESS_RUNTIMES_H

#include "heap/runtime.h"

extern const struct hl_runtime *const hl_all_runtimes[]; // ends with NULL

#endif
