// Forks. A child that is recorded continues with the tables of its parent, because it has its heap.
#ifndef HL_PROCESS_FORK_H
#define HL_PROCESS_FORK_H

#include "base/platform.h"

// hl_fork_init registers handlers of forks.
void hl_fork_init(void);

// hl_enter_slow_path blocks all signals and returns those that were blocked before. It must be
// called before a lock of the engine is taken. It also finds out whether this process was forked
// without the handlers, by a system call of the program: another thread may then have held a lock,
// which nobody would release.
extern uint32_t *hl_fork_mark; // 0 in such a child
void hl_fork_unseen(void);
static inline uint64_t hl_enter_slow_path(void) {
    uint64_t signals = hl_signals_block();
    if (hl_unlikely(__atomic_load_n(hl_fork_mark, __ATOMIC_RELAXED) == 0)) hl_fork_unseen();
    return signals;
}

#endif
