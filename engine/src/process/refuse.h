// Programs that the engine does not record, and why.
#ifndef HL_PROCESS_REFUSE_H
#define HL_PROCESS_REFUSE_H

#include "base/platform.h"

// hl_refuse_is_safe reports whether the process may follow the settings of its environment.
// Programs that run with the rights of another user (setuid) must not write where their caller
// says.
bool hl_refuse_is_safe(void);

// hl_refuse_is_filtered reports whether the process has a seccomp filter that the recorder does not
// have. The filter may kill the process for a system call of the engine, so that the engine must
// not make any. This function makes only such calls as the dynamic linker has just made: openat,
// read and close.
bool hl_refuse_is_filtered(void);

// hl_refuse reports whether the program cannot be recorded, and writes the reason.
bool hl_refuse(char *why, size_t size);

#endif
