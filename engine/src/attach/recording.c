#include "attach/recording.h"

#include "attach/helper.h"
#include "attach/hooks.h"
#include "base/config.h"
#include "base/objects.h"
#include "base/problems.h"
#include "base/slots.h"
#include "base/text.h"
#include "heap/operators.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/channel.h"
#include "output/snapshot.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/fork.h"
#include "process/refuse.h"
#include "process/runtimes.h"
#include "process/target.h"

__attribute__((weak)) int __cxa_atexit(void (*)(void *), void *, void *);

static void leave(void *unused) {
    (void)unused;
    hl_trigger_leave();
}

// register_exit lets the recorder look before the program frees what it kept: of the exit handlers
// and destructors, the one that was registered last runs first.
static void register_exit(void) {
    if (__cxa_atexit) __cxa_atexit(leave, NULL, NULL);
}

// prepare_once allocates what is kept until the process ends.
static bool prepare_once(void) {
    static bool prepared;
    if (prepared) return true;
    if (!hl_regions_init() || !hl_sites_init()) return false;
    hl_unwind_init();
    hl_fork_also = hl_attach_forked;
    hl_fork_init();
    hl_slots_call(register_exit);
    prepared = true;
    return true;
}

// forget removes what is left of the recording before.
static void forget(void) {
    hl_writer_restart();
    hl_record_clear();
    hl_snapshot_forked();
    hl_problems_forked();
    hl_trigger_forked();
    hl_unwind_forget();
    hl_memory_forget();
    hl_runtimes_unloading();
    hl_runtimes_unloaded(); // libraries that were unloaded since then
}

static uint64_t seen;    // objects that had been loaded when the tables were read
static uint32_t pending; // slots that could not be changed then

static void replace(struct hl_control *c) {
    seen = hl_slots_loads();
    struct hl_slots s = hl_hooked_replace();
    c->objects = s.objects;
    c->replaced = s.replaced;
    c->foreign = s.foreign;
    pending = s.pending;
}

// put_back restores all slots. Those that the loader is at work on are tried again.
static void put_back(struct hl_control *c) {
    enum { TRIES = 500, PAUSE = 2000000 };
    for (int i = 0; i < TRIES; i++) {
        struct hl_slots s = hl_hooked_restore();
        c->left = s.replaced;
        if (s.replaced == 0 && s.pending == 0) return;
        hl_sleep(PAUSE);
    }
}

// open_channel makes memory that heaplapse prepares and shares.
static const char *open_channel(struct hl_control *c) {
    enum { TRIES = 5000, PAUSE = 2000000 };
    long fd = hl_channel_create();
    if (fd < 0) return "no memory can be shared with heaplapse (memfd_create)";
    __atomic_store_n(&c->prepared, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->channel, (uint32_t)fd + 1, __ATOMIC_RELEASE);
    for (int i = 0; i < TRIES && !__atomic_load_n(&c->prepared, __ATOMIC_ACQUIRE); i++)
        hl_sleep(PAUSE);
    __atomic_store_n(&c->channel, 0, __ATOMIC_RELEASE);
    return hl_channel_adopt((int)fd) == 0 ? NULL : "heaplapse did not prepare the shared memory";
}

const char *hl_attach_begin(struct hl_control *c, char *settings) {
    static char why[256];
    hl_loaded_late = true;
    if (!hl_config_parse(settings)) return "the settings cannot be read";
    if (!hl_refuse_is_safe()) return "the program runs with the rights of another user (setuid)";
    hl_period = hl_config.period;
    hl_runtimes_use(hl_all_runtimes);
    hl_trigger_init();
    hl_target_read();
    if (hl_refuse(why, sizeof why)) return why;
    if (!prepare_once()) return "no memory for the tables";
    forget();
    const char *reason = open_channel(c);
    if (reason) return reason;
    reason = hl_hooked_find(c);
    if (reason) return put_back(c), reason;
    hl_live_as(HL_RECORDING);
    hl_threads_restart();
    replace(c);
    return NULL;
}

void hl_attach_python(struct hl_control *c) {
    hl_runtimes_install();
    c->python = hl_runtimes_are_hooked();
}

void hl_attach_look(struct hl_control *c) {
    if (pending == 0 && hl_slots_loads() == seen) return;
    replace(c);
    hl_unwind_forget();
}

void hl_attach_end(struct hl_control *c, bool python) {
    const int64_t never = INT64_MAX / 2;
    hl_config.python = 0;
    if (python && !hl_runtimes_remove()) c->python = 2;
    if (c->python == 1 && !hl_runtimes_are_hooked()) c->python = 0;
    hl_live_as(HL_OFF);
    put_back(c);
    hl_config.every = 0;
    hl_writer_stop(never);
    c->replaced = 0;
}
