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
extern HL_OWN uint32_t hl_life;

static inline bool hl_is_recording(void) {
    return __atomic_load_n(&hl_life, __ATOMIC_RELAXED) == HL_RECORDING;
}
static inline void hl_live_as(enum hl_life life) {
    __atomic_store_n(&hl_life, life, __ATOMIC_RELEASE);
}

// A child that the program forks by a system call runs no handler of forks. Another thread of its
// parent may have held a lock, which nobody would release. The kernel clears the mark in a child,
// if it can (Linux 4.14).
enum hl_fork_mark {
    HL_FORK_NEW,
    HL_FORK_STARTS,  // a thread makes the engine's state that of the child
    HL_FORK_NOTICED, // the state is that of this process
};
extern HL_OWN uint32_t *hl_fork_mark;

// hl_fork_mark_init is called once. start makes the state that of a child. It must not enter the
// engine.
void hl_fork_mark_init(void (*start)(void));

// hl_fork_notice makes the engine's state and hl_process those of this process, unless they are.
// Of several threads, one does, and the others wait. All signals must be blocked. by_handler tells
// that a handler of forks calls: the process is a child, even if the kernel cannot clear the mark.
void hl_fork_notice(bool by_handler);

// hl_is_noticed reports whether the engine's state is that of this process.
static inline bool hl_is_noticed(void) {
    return hl_likely(__atomic_load_n(hl_fork_mark, __ATOMIC_ACQUIRE) == HL_FORK_NOTICED);
}

// hl_enter_slow_path blocks all signals and returns those that were blocked before. It must be
// called before a lock of the engine is taken.
static inline uint64_t hl_enter_slow_path(void) {
    uint64_t signals = hl_signals_block();
    if (!hl_is_noticed()) hl_fork_notice(false);
    return signals;
}

// hl_worker_waits returns the time until a worker has run for a second, or 0. Before, it takes
// neither a timed snapshot nor the last one: a program that starts thousands of processes, each for
// a moment, is neither slowed down nor are there files of them.
int64_t hl_worker_waits(void);

#endif
