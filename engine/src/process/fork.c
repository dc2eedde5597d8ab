#include "process/fork.h"

#include "base/config.h"
#include "base/entry.h"
#include "base/problems.h"
#include "base/quiet.h"
#include "base/slots.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/runtime.h"
#include "output/snapshot.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/signals.h"

// glibc has __register_atfork in its shared library, musl has pthread_atfork.
__attribute__((weak)) int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
__attribute__((weak)) int pthread_atfork(void (*)(void), void (*)(void), void (*)(void));

void (*hl_fork_also)(void);

// No lock is held between the handlers: those of the program and its libraries run in between, and
// may allocate, unmap, or wait for other threads. The child repairs the tables if it has to.
static void prepare(void) {
    // CPython counts the threads after a fork, and warns. It does so within microseconds.
    enum { PAUSE = 20000000 };
    if (hl_runtimes_count_threads()) hl_writer_stop(PAUSE);
    hl_slots_forking();
}

static void parent(void) { hl_slots_forked(false); }

// stop_child ends the recording in a child.
static void stop_child(void) {
    hl_live_as(HL_OFF);
    hl_signals_end();
}

static void continue_child(void) {
    hl_process.started = hl_clock(HL_MONOTONIC);
    hl_process.started_at = hl_clock(HL_REALTIME);
    hl_snapshot_forked();
    hl_trigger_forked();
    if (hl_life == HL_ENDED) hl_live_as(HL_RECORDING);
}

// start_child makes this process one of its own, in which nothing holds a lock. It calls nothing
// that enters the engine again.
static void start_child(void) {
    bool held = hl_heap_lock.state != 0 || hl_regions_lock.state != 0;
    hl_heap_lock.state = hl_regions_lock.state = 0;
    hl_slots_forked(true);
    hl_quiet_forked();
    if (hl_fork_also) hl_fork_also();
    hl_record_forked();
    hl_writer_forked();
    hl_problems_forked();
    hl_signals_forked();
    if (hl_config.children == HL_MAIN_ONLY || (held && !hl_record_repair()))
        stop_child();
    else
        continue_child();
}

// child is called by the C library. A child of a process that is not recorded may be restricted by
// a filter, and makes no system call here.
static void child(void) {
    hl_slots_forked(true);
    if (__atomic_load_n(&hl_life, __ATOMIC_RELAXED) == HL_OFF) return;
    uint64_t before = hl_signals_block();
    hl_fork_notice(true);
    hl_signals_restore(before);
}

void hl_fork_init(void) {
    hl_fork_mark_init(start_child);
    if (__register_atfork)
        __register_atfork(prepare, parent, child, NULL);
    else if (pthread_atfork)
        pthread_atfork(prepare, parent, child);
}
