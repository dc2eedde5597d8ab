#include "output/trigger.h"

#include "base/config.h"
#include "heap/record.h"
#include "heap/sites.h"
#include "output/channel.h"
#include "output/writer.h"

static int64_t last_allocated; // bytes allocated at the last snapshot for that reason
static int64_t highest;        // bytes in use at the last snapshot for that reason
static int64_t finalized;      // monotonic time of finalizing; 0 before
static int64_t finalized_cpu;  // processor time of the process then

// is_torn_down reports whether the interpreter may be freeing everything. On a busy machine that
// takes longer, but not more processor time.
static bool is_torn_down(void) {
    const int64_t second = 1000000000;
    enum { MOST_CPU = 5, MOST = 60 };
    return finalized != 0 && hl_clock(HL_MONOTONIC) - finalized < MOST * second &&
           hl_clock(HL_PROCESS_CPU) - finalized_cpu < MOST_CPU * second;
}

bool hl_trigger_ended(void) {
    return __atomic_load_n(&hl_life, __ATOMIC_RELAXED) == HL_ENDED || is_torn_down() ||
           hl_channel_is_closed();
}

// is_recorded reports whether this process writes snapshots. A child that shares the memory of its
// parent (vfork) does not.
static bool is_recorded(void) {
    return __atomic_load_n(&hl_life, __ATOMIC_RELAXED) != HL_OFF &&
           (uint64_t)hl_syscall0(HL_SYS_getpid) == hl_process.pid;
}

// is_wanted reports whether this process writes snapshots now.
static bool is_wanted(void) { return is_recorded() && !hl_trigger_ended(); }

// has_passed reports whether a sum has grown by a step since *last, and sets *last if it has. If
// several threads see it, one of them returns true.
static bool has_passed(int64_t *last, const int64_t *sum, uint64_t step) {
    if (step == 0) return false;
    int64_t before = __atomic_load_n(last, __ATOMIC_RELAXED);
    int64_t value = __atomic_load_n(sum, __ATOMIC_RELAXED);
    if (value - before < (int64_t)step) return false;
    return __atomic_compare_exchange_n(last, &before, value, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

// is_new_high reports whether the bytes in use have grown by a step. The sum may still include
// samples that were freed; hl_heap_enter removes them.
static bool is_new_high(void) {
    int64_t before = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    int64_t value = __atomic_load_n(&hl_totals.inuse_bytes, __ATOMIC_RELAXED);
    if (hl_config.inuse == 0 || value - before < (int64_t)hl_config.inuse) return false;
    hl_heap_leave(hl_heap_enter());
    return has_passed(&highest, &hl_totals.inuse_bytes, hl_config.inuse);
}

static void check(void) {
    bool allocated = has_passed(&last_allocated, &hl_totals.alloc_bytes, hl_config.alloc);
    bool high = is_new_high();
    bool missing = hl_writer_is_missing();
    if ((!allocated && !high && !missing) || !is_wanted()) return;
    uint64_t signals = hl_signals_block();
    if (allocated) hl_writer_request(HL_ALLOCATED);
    if (high) hl_writer_request(HL_HIGH_WATER);
    if (missing) hl_writer_keep();
    hl_signals_restore(signals);
}

// is_copy reports whether this process was forked and has recorded nothing since. Its heap is a
// copy of its parent's, and most such children are about to become another program, or to end.
static int64_t allocated_before; // by the parent, before the fork
static bool is_copy(void) {
    return hl_process.is_fork && hl_totals.alloc_bytes == allocated_before;
}

void hl_trigger_last(enum hl_trigger trigger) {
    if (!is_recorded() || is_copy() || hl_worker_waits() > 0) return;
    uint64_t signals = hl_signals_block();
    if (hl_trigger_ended()) {
        hl_writer_finish(); // another thread may wait for the last one
    } else {
        if (trigger == HL_EXIT) hl_live_as(HL_ENDED);
        hl_writer_now(trigger);
    }
    hl_signals_restore(signals);
}

void hl_trigger_leave(void) {
    if (is_wanted() && finalized == 0 && !is_copy() && hl_worker_waits() == 0) hl_writer_leave();
}

static void finalizing(void) {
    if (finalized != 0 || !is_wanted()) return;
    hl_trigger_leave();
    uint64_t signals = hl_signals_block();
    finalized_cpu = hl_clock(HL_PROCESS_CPU);
    finalized = hl_clock(HL_MONOTONIC); // first: the writer takes no timed snapshot then
    hl_writer_now(HL_EXIT);
    hl_signals_restore(signals);
}

void hl_trigger_manual(void) {
    uint64_t signals = hl_signals_block();
    if (is_wanted()) hl_writer_request(HL_MANUAL);
    hl_signals_restore(signals);
}

void hl_trigger_forked(void) {
    finalized = 0;
    allocated_before = last_allocated = hl_totals.alloc_bytes;
    highest = hl_totals.inuse_bytes;
}

void hl_trigger_init(void) {
    hl_observer = (struct hl_observer){.sampled = check, .finalizing = finalizing};
}
