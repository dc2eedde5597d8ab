#include "adapter/timer.h"

#include "adapter/dump.h"
#include "base/config.h"
#include "base/entry.h"
#include "base/next.h"
#include "base/objects.h"

static int64_t last;  // monotonic time of the last timed snapshot
static bool hurrying; // a snapshot is wanted at once
static long ticks;    // what time() returns

bool hl_timer_is_due(void) {
    int64_t now = hl_clock(HL_MONOTONIC_COARSE), wait = (int64_t)hl_config.every * 1000000;
    if (hl_config.part && (now - hl_process.started) / (int64_t)hl_config.part > wait)
        wait = (now - hl_process.started) / (int64_t)hl_config.part;
    if (hl_worker_waits() > 0 || (last != 0 && now - last < wait)) return false;
    last = now;
    return true;
}

void hl_timer_hurry(void) { hurrying = true; }

// gperftools takes a snapshot when time() has advanced by its interval. It advances by more than
// any interval when one is due.
long hl_timer_time(long *to) {
    bool due = hurrying || (hl_config.every > 0 && hl_timer_is_due());
    if (due && hl_dump_is_wanted()) ticks += 1L << 30;
    hurrying = false;
    if (to) *to = ticks;
    return ticks;
}

// --- jemalloc ---
//
// jemalloc can take a snapshot at each interval in bytes, but counts only the memory that its
// threads' caches take from the heap: a program that reuses cached blocks takes none. It walks the
// stack for each sample, however, also of a cached block. It does so without locks, so that a
// snapshot can be requested then. The functions that walk the stack are left by a jump, because
// they would see the frame of a call.
//
// Source: jemalloc src/prof_sys.c (prof_backtrace, prof_mdump).

static int (*mallctl)(const char *, void *, size_t *, void *, size_t);

static void check(void) {
    static const char path[] = HL_DUMP_PREFIX ".0.0.t0.heap";
    static uint64_t busy; // the process in which a thread checks the timer
    const char *at = path;
    if (!mallctl || hl_config.every == 0 || !hl_dump_is_wanted()) return;
    uint64_t me = hl_process.pid;
    if (__atomic_exchange_n(&busy, me, __ATOMIC_ACQUIRE) == me) return;
    int *e = __errno_location(), before = *e;
    if (hl_timer_is_due()) mallctl("prof.dump", NULL, NULL, (void *)&at, sizeof at);
    *e = before;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static int (*next_backtrace)(void *, void *);
static int (*next_unw_backtrace)(void **, int);

static int backtrace(void *callback, void *argument) {
    check();
    __attribute__((musttail)) return next_backtrace(callback, argument);
}

static int unw_backtrace(void **to, int n) {
    check();
    __attribute__((musttail)) return next_unw_backtrace(to, n);
}

int (*hl_timer_backtrace)(void *callback, void *argument);
int (*hl_timer_unw_backtrace)(void **to, int n);

void hl_timer_init(void) {
    struct hl_symbol s[] = {
        {.name = "mallctl"}, {.name = "_Unwind_Backtrace"}, {.name = "unw_backtrace"}};
    hl_find(s, HL_LENGTH(s));
    memcpy(&mallctl, &s[0].address, sizeof mallctl);
    memcpy(&next_backtrace, &s[1].address, sizeof next_backtrace);
    memcpy(&next_unw_backtrace, &s[2].address, sizeof next_unw_backtrace);
    if (next_backtrace) hl_timer_backtrace = backtrace;
    if (next_unw_backtrace) hl_timer_unw_backtrace = unw_backtrace;
}
