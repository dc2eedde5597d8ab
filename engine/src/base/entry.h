// How a thread of the program enters the engine, and whether the engine records.
#ifndef HL_BASE_ENTRY_H
#define HL_BASE_ENTRY_H

#include "base/platform.h"

// enum hl_life is the life of a recording in a process. A forked child that is recorded starts at
// HL_RECORDING again, another one at HL_OFF.
enum hl_life {
    HL_OFF,       // not begun, refused, or ended by detaching
    HL_RECORDING, // allocations are recorded
    HL_ENDED,     // the last snapshot was asked for: nothing more is recorded
};
extern uint32_t hl_life;

static inline bool hl_is_recording(void) {
    return __atomic_load_n(&hl_life, __ATOMIC_RELAXED) == HL_RECORDING;
}
static inline void hl_live_as(enum hl_life life) {
    __atomic_store_n(&hl_life, life, __ATOMIC_RELEASE);
}

// hl_enter_slow_path blocks all signals and returns those that were blocked before. It must be
// called before a lock of the engine is taken. It also finds out whether this process was forked
// without the handlers, by a system call of the program: another thread may then have held a lock,
// which nobody would release. hl_fork_unseen is called then, which sets *hl_fork_mark again.
extern uint32_t *hl_fork_mark; // 0 in such a child
extern void (*hl_fork_unseen)(void);
static inline uint64_t hl_enter_slow_path(void) {
    uint64_t signals = hl_signals_block();
    if (hl_unlikely(__atomic_load_n(hl_fork_mark, __ATOMIC_RELAXED) == 0)) hl_fork_unseen();
    return signals;
}

// hl_fork_is_new reports whether the child that a handler of forks runs in has not been noticed
// yet. It is true where the kernel cannot clear the mark.
bool hl_fork_is_new(void);

// hl_fork_notice makes hl_process that of a forked child, and notes that the fork was noticed.
void hl_fork_notice(void);

// hl_worker_waits returns the time until a worker has run for a second, or 0. Before, it takes
// neither a timed snapshot nor the last one: a program that starts thousands of processes, each for a
// moment, is neither slowed down nor are there files of them.
int64_t hl_worker_waits(void);

// hl_fork_mark_init makes the kernel clear *hl_fork_mark in forked children, if it can
// (Linux 4.14).
void hl_fork_mark_init(void (*unseen)(void));

#endif
