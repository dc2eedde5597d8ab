// Forks. A child that is recorded continues with the tables of its parent, because it has its heap.
#ifndef HL_PROCESS_FORK_H
#define HL_PROCESS_FORK_H

#include "base/platform.h"

// hl_fork_init registers handlers of forks.
void hl_fork_init(void);

// hl_fork_also, if it is not NULL, is called in every forked child.
extern void (*hl_fork_also)(void);

#endif
