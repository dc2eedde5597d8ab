// Programs that the engine does not record, and why.
#ifndef HL_PROCESS_REFUSE_H
#define HL_PROCESS_REFUSE_H

#include "base/platform.h"

// hl_refuse_is_safe reports whether the process may follow the settings of its environment.
// Programs that run with the rights of another user (setuid) must not write where their caller
// says.
bool hl_refuse_is_safe(void);

// hl_refuse reports whether the program cannot be recorded, and writes the reason.
bool hl_refuse(char *why, size_t size);

#endif
