// Which process is recorded.
#ifndef HL_PROCESS_TARGET_H
#define HL_PROCESS_TARGET_H

#include "base/platform.h"

// hl_target_claim reports whether this process image is recorded. The first program that is not a
// wrapper (sh, env, timeout, …) is the main program. It writes its process number, and what
// identifies its file, into the environment, which its children inherit: the device and inode, and
// the path, in case that the file is replaced. Of other processes, those of the same file are
// recorded if workers are. No process asks the recorder for that: it would cost every child of the
// program, such as a compiler that make runs, more than its start.
bool hl_target_claim(void);

// hl_target_read sets hl_process, except its page size.
void hl_target_read(void);

#endif
