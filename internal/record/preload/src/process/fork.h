// Forks. A child that is recorded continues with the tables of its parent, because it has its heap.
#ifndef HL_PROCESS_FORK_H
#define HL_PROCESS_FORK_H

#include "base/platform.h"

// hl_fork_init registers handlers that hold the engine's locks during a fork.
void hl_fork_init(void);

// hl_fork_check must be called before a lock is taken that hl_fork_init's handlers hold, with all
// signals blocked. It finds out whether this process was forked without the handlers, by a system
// call of the program: another thread may then have held a lock, which nobody would release.
extern uint32_t *hl_fork_mark; // 0 in such a child
void hl_fork_unseen(void);
static inline void hl_fork_check(void) {
    if (hl_unlikely(__atomic_load_n(hl_fork_mark, __ATOMIC_RELAXED) == 0)) hl_fork_unseen();
}

#endif
