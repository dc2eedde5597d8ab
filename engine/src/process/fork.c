#include "process/fork.h"

#include "attach/helper.h"
#include "attach/slots.h"
#include "engine.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "output/events.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/config.h"
#include "process/signals.h"
#include "stack.h"

// glibc has __register_atfork in its shared library, musl has pthread_atfork.
__attribute__((weak)) int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
__attribute__((weak)) int pthread_atfork(void (*)(void), void (*)(void), void (*)(void));

static uint32_t unwiped = 1;
uint32_t *hl_fork_mark = &unwiped;

static uint64_t signals; // the mask of the thread that forks, while it holds the locks

static bool holds_slots;

// lock_slots waits until the helper does not read the loader's list. This thread may hold the
// loader's lock, for which the helper then waits: it does not wait for long.
static bool lock_slots(void) {
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++) {
        if (hl_trylock(&hl_slots_lock)) return true;
        hl_syscall0(HL_SYS_sched_yield);
    }
    return false;
}

static void prepare(void) {
    // CPython counts the threads after a fork, and warns. It does so within microseconds.
    enum { PAUSE = 20000000 };
    if (hl_python_counts_threads()) hl_writer_stop(PAUSE);
    uint64_t before = hl_enter_slow_path();
    holds_slots = lock_slots();
    hl_lock(&hl_regions_lock);
    hl_lock(&hl_heap_lock);
    signals = before;
}

static void release(void) {
    uint64_t before = signals;
    hl_unlock(&hl_heap_lock);
    hl_unlock(&hl_regions_lock);
    if (holds_slots) hl_unlock(&hl_slots_lock);
    hl_signals_restore(before);
}

// start_child makes this process one of its own, in which nothing holds a lock.
static void start_child(void) {
    hl_heap_lock.state = hl_regions_lock.state = hl_slots_lock.state = 0;
    hl_attach_forked();
    *hl_fork_mark = 1;
    hl_process.parent = hl_process.pid;
    hl_process.pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    hl_process.is_fork = true;
    hl_record_forked();
    hl_unwind_forked();
    hl_writer_forked();
    hl_problems_forked();
    if (!hl_config.children) {
        __atomic_store_n(&hl_recording, false, __ATOMIC_RELAXED);
        return;
    }
    hl_process.started = hl_clock(HL_MONOTONIC);
    hl_process.started_at = hl_clock(HL_REALTIME);
    hl_snapshot_forked();
    hl_names_forked();
    hl_trigger_forked();
    hl_signals_forked();
}

static void child(void) {
    uint64_t before = signals;
    start_child();
    hl_signals_restore(before);
}

void hl_fork_unseen(void) {
    bool held = hl_heap_lock.state != 0 || hl_regions_lock.state != 0;
    start_child();
    if (!held) return;
    __atomic_store_n(&hl_recording, false, __ATOMIC_RELAXED);
    hl_problem("disabled", "forked by a system call while another thread changed the tables");
}

void hl_fork_init(void) {
    enum { PAGE = 4096, MADV_WIPEONFORK = 18 };
    uint32_t *mark = hl_pages_alloc(PAGE);
    if (mark && hl_syscall3(HL_SYS_madvise, mark, PAGE, MADV_WIPEONFORK) == 0) {
        *mark = 1;
        hl_fork_mark = mark;
    }
    if (__register_atfork)
        __register_atfork(prepare, release, child, NULL);
    else if (pthread_atfork)
        pthread_atfork(prepare, release, child);
}
