// The start and the end of the engine.
#include "base/config.h"
#include "base/entry.h"
#include "base/next.h"
#include "base/problems.h"
#include "base/text.h"
#include "heap/libc.h"
#include "heap/operators.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/events.h"
#include "output/trigger.h"
#include "process/fork.h"
#include "process/refuse.h"
#include "process/runtimes.h"
#include "process/signals.h"
#include "process/target.h"

static bool last(int sig, const struct hl_siginfo *info, bool ends) {
    (void)ends;
    if (!hl_signals_deserve(info)) return true;
    hl_trigger_leave();
    hl_snapshot_signal = (uint64_t)sig;
    hl_trigger_last(HL_SIGNAL);
    return true;
}

static const struct hl_signal_hooks signal_hooks = {.last = last, .manual = hl_trigger_manual};

// start_recording allocates the tables. It returns false if there is no memory for them.
static bool start_recording(void) {
    hl_period = hl_config.period;
    hl_runtimes_use(hl_all_runtimes);
    hl_trigger_init();
    hl_interpose_init();
    hl_operators_init();
    if (!hl_regions_init() || !hl_sites_init()) return false;
    hl_unwind_init();
    hl_fork_init();
    hl_signals_init(&signal_hooks);
    hl_live_as(HL_RECORDING);
    hl_threads_restart();
    return true;
}

static void refuse(const char *why) {
    uint64_t signals = hl_signals_block();
    hl_problem("disabled", why);
    hl_events_problems();
    hl_signals_restore(signals);
}

__attribute__((constructor)) static void start(void) {
    static char why[256];
    hl_next_find();
    if (!hl_config_read() || hl_refuse_is_filtered()) return;
    hl_target_read();
    if (!hl_refuse_is_safe()) return;
    if (!hl_target_claim()) return;
    if (hl_refuse(why, sizeof why))
        refuse(why);
    else if (!start_recording())
        refuse("no memory for the tables");
}

__attribute__((destructor)) static void finish(void) { hl_trigger_last(HL_EXIT); }
