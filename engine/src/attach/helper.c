// The helper: the thread that heaplapse creates in a process to which it attaches. The C library
// knows it. It sleeps nearly all the time.
#include "attach/helper.h"

#include "attach/recording.h"
#include "base/text.h"
#include "heap/record.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/single.h"

__attribute__((weak)) int pthread_detach(uintptr_t thread);
extern uintptr_t pthread_self(void);

HL_EXPORT struct hl_control heaplapse_attach_control = {.magic = "heaplapse-attach", .version = 3};
static struct hl_control *const control = &heaplapse_attach_control;

static void set_state(enum hl_state state) {
    __atomic_store_n(&control->state, state, __ATOMIC_RELEASE);
}

static enum hl_state state(void) { return __atomic_load_n(&control->state, __ATOMIC_ACQUIRE); }

// block_signals blocks all signals but those that the C library sends to its threads: for
// pthread_cancel, and for setuid, which waits for all threads.
static void block_signals(void) {
    enum { FIRST = 32, SECOND = 33 };
    uint64_t all = ~UINT64_C(0);
    hl_signals_restore(all & ~(UINT64_C(1) << (FIRST - 1)) & ~(UINT64_C(1) << (SECOND - 1)));
}

static void set_name(void) {
    enum { PR_SET_NAME = 15 };
    hl_syscall2(HL_SYS_prctl, PR_SET_NAME, "heaplapse");
}

// --- the end before a seccomp filter ---

static uint32_t sandbox; // is not 0 when the program is about to restrict its system calls

static void before_sandbox(void) {
    enum { TRIES = 400, PAUSE = 5000000 };
    if (state() != HL_HELPER_RECORDING && state() != HL_HELPER_STARTING) return;
    __atomic_store_n(&sandbox, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < TRIES && state() != HL_HELPER_STOPPED; i++) hl_sleep(PAUSE);
}

// --- the end of rights ---

enum { REAL, EFFECTIVE, SAVED, IDS };
static uint32_t users[IDS], groups[IDS]; // of this thread, when it has looked last

// look_at_rights ends the writer if the rights of the process have changed. The C library changes
// those of all threads that it knows: of this one, and not of the writer. Nearly always the writer
// has ended before (process/single.c), but not if the program had the address of setuid from dlsym.
// The next writer has the new rights: it is created by a thread that has them by then.
static void look_at_rights(void) {
    enum { PAUSE = 100000000 };
    uint32_t u[IDS] = {0}, g[IDS] = {0};
    hl_syscall3(HL_SYS_getresuid, &u[REAL], &u[EFFECTIVE], &u[SAVED]);
    hl_syscall3(HL_SYS_getresgid, &g[REAL], &g[EFFECTIVE], &g[SAVED]);
    bool same = memcmp(u, users, sizeof u) == 0 && memcmp(g, groups, sizeof g) == 0;
    memcpy(users, u, sizeof u);
    memcpy(groups, g, sizeof g);
    if (!same) hl_writer_stop(PAUSE);
}

// --- the life of the helper ---

static struct hl_boot boot;

static void unmap_scratch(void) {
    if (boot.scratch != 0) hl_pages_free((void *)boot.scratch, boot.scratch_size);
    boot.scratch = 0;
}

static void take_snapshot(void) {
    uint64_t signals = hl_signals_block();
    hl_writer_now(HL_MANUAL);
    hl_signals_restore(signals);
}

static void begin_timer(void) {
    uint64_t signals = hl_signals_block();
    hl_writer_keep();
    hl_signals_restore(signals);
}

static uint64_t last_beat;   // what heaplapse has written last
static int64_t beat_changed; // when that was seen first

static void expect_beat(void) {
    last_beat = __atomic_load_n(&control->beat, __ATOMIC_RELAXED);
    beat_changed = hl_clock(HL_MONOTONIC);
}

// is_alone reports whether heaplapse has not shown that it lives for a time.
static bool is_alone(void) {
    const int64_t patience = 20000000000;
    if (__atomic_load_n(&control->beat, __ATOMIC_RELAXED) != last_beat) expect_beat();
    return hl_clock(HL_MONOTONIC) - beat_changed >= patience;
}

enum ending { GO_ON, BY_COMMAND, ALONE, RESTRICTED };

// obey carries out a new command, if there is one.
static enum ending obey(void) {
    enum { KIND = 15 };
    uint32_t command = __atomic_load_n(&control->command, __ATOMIC_ACQUIRE);
    if (command == control->answer) return GO_ON;
    if ((command & KIND) == HL_STOP) return BY_COMMAND;
    if ((command & KIND) == HL_SNAPSHOT) take_snapshot();
    if ((command & KIND) == HL_UNMAP) unmap_scratch();
    __atomic_store_n(&control->answer, command, __ATOMIC_RELEASE);
    return GO_ON;
}

static enum ending work(void) {
    enum { INTERVAL = 50000000 }; // each round takes about 40 µs of the processor
    expect_beat();
    for (;;) {
        enum ending e = obey();
        if (e != GO_ON) return e;
        if (__atomic_load_n(&sandbox, __ATOMIC_ACQUIRE)) return RESTRICTED;
        if (is_alone()) return ALONE;
        look_at_rights();
        hl_attach_look(control);
        hl_sleep(INTERVAL);
    }
}

static void end(enum ending e) {
    set_state(HL_HELPER_STOPPING);
    if (e != RESTRICTED && hl_is_recording()) take_snapshot();
    hl_attach_end(control, e != RESTRICTED);
    control->ended = (uint32_t)e - BY_COMMAND;
    control->answer = control->command;
}

static void refuse(const char *reason) {
    struct hl_text t = hl_text(control->reason, sizeof control->reason);
    hl_put_string(&t, reason);
    hl_put_end(&t);
}

static enum hl_state record(void) {
    const char *reason = hl_attach_begin(control, boot.settings);
    if (reason) {
        refuse(reason);
        return HL_HELPER_REFUSED;
    }
    hl_before_sandbox = before_sandbox;
    bool entered = hl_enter(); // what this thread allocates is not recorded
    look_at_rights();
    begin_timer();
    set_state(HL_HELPER_RECORDING);
    hl_attach_python(control);
    end(work());
    if (entered) hl_leave();
    return HL_HELPER_STOPPED;
}

static bool is_newest(uint64_t number) {
    return __atomic_load_n(&control->newest, __ATOMIC_SEQ_CST) == number;
}

// claim makes this thread the one that records. If a heaplapse was killed before its helper has
// begun, the next one does not see that helper, and creates another: only the newest begins.
static bool claim(uint64_t number) {
    enum { TRIES = 20000, PAUSE = 1000000 };
    for (int i = 0; i < TRIES && is_newest(number); i++) {
        uint32_t expected = HL_HELPER_NEVER;
        if (__atomic_compare_exchange_n(&control->state, &expected, HL_HELPER_STARTING, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            if (is_newest(number)) return true;
            set_state(HL_HELPER_NEVER);
            return false;
        }
        hl_sleep(PAUSE);
    }
    return false;
}

// heaplapse_attach_main is the body of the helper.
HL_EXPORT void *heaplapse_attach_main(const struct hl_boot *b) {
    block_signals();
    hl_signals_restore(hl_enter_slow_path()); // the process may be a child that nothing noticed
    set_name();
    if (pthread_detach) pthread_detach(pthread_self());
    if (!claim(b->number)) return NULL;
    boot = *b;
    sandbox = 0;
    control->answer = control->command; // older ones are not meant for this recording
    control->helper = (uint32_t)hl_syscall0(HL_SYS_gettid);
    control->reason[0] = 0;
    enum hl_state last = record();
    control->helper = 0;
    set_state(last);
    return NULL;
}

void hl_attach_forked(void) {
    if (state() != HL_HELPER_NEVER) set_state(HL_HELPER_STOPPED);
}
