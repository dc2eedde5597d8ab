#include "python/python.h"
#include "base/config.h"
#include "heap/regions.h"
#include "python/hooks.h"

// due reports whether the last time is long ago.
static bool due(void) {
    enum { INTERVAL = 50 * 1000 * 1000 };
    static int64_t last;
    int64_t now = hl_clock(HL_MONOTONIC_COARSE), before = __atomic_load_n(&last, __ATOMIC_RELAXED);
    return (before == 0 || now - before >= INTERVAL) &&
           __atomic_compare_exchange_n(&last, &before, now, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static bool hooked; // the engine's functions are before the allocator's

// hook puts the engine's functions before the allocator's. The arenas that CPython has mapped until
// then are forgotten: the objects in them are recorded from now on.
static void hook(const struct hl_interpreter *py) {
    struct hl_window w = {.lo = 0};
    bool attached;
    hl_memory_forget();
    if (hl_interpreter_thread(py, &w, &attached) == 0 || !attached) return;
    hl_hooks_install(py);
    if (!__atomic_exchange_n(&hooked, true, __ATOMIC_RELAXED))
        hl_regions_forget_arenas(py->object.start, py->object.end);
}

static uint32_t poll(void) {
    enum { SELDOM = 8 };
    bool is_new;
    uint32_t pause = hl_interpreter_search(&is_new);
    if (is_new) {
        hl_hooks_reset();
        __atomic_store_n(&hooked, false, __ATOMIC_RELAXED);
    }
    const struct hl_interpreter *py = hl_config.python ? hl_interpreter() : NULL;
    if (py == NULL) return pause;
    if (!__atomic_load_n(&hooked, __ATOMIC_RELAXED) || due()) hook(py);
    hl_interpreter_done();
    return __atomic_load_n(&hooked, __ATOMIC_RELAXED) ? SELDOM : pause;
}

static void install(void) {
    bool is_new;
    hl_interpreter_search(&is_new);
    const struct hl_interpreter *py = hl_config.python ? hl_interpreter() : NULL;
    if (py == NULL) return;
    if (py->ensure != NULL && py->release != NULL) {
        int state = py->ensure();
        hook(py);
        py->release(state);
    }
    hl_interpreter_done();
}

static bool is_hooked(void) { return __atomic_load_n(&hooked, __ATOMIC_RELAXED); }

static bool take_away(void) {
    const struct hl_interpreter *py = is_hooked() ? hl_interpreter() : NULL;
    if (py == NULL) return true;
    int state = py->ensure();
    bool removed = hl_hooks_remove(py);
    __atomic_store_n(&hooked, !removed, __ATOMIC_RELAXED);
    py->release(state);
    hl_interpreter_done();
    return removed;
}

const struct hl_runtime hl_python = {.poll = poll,
                                     .merge = hl_python_merge,
                                     .install = install,
                                     .remove = take_away,
                                     .is_hooked = is_hooked,
                                     .unloading = hl_python_unloading,
                                     .unloaded = hl_python_unloaded,
                                     .is_finalizing = hl_python_is_finalizing,
                                     .counts_threads = hl_python_counts_threads};
