#include "process/signals.h"

#include "base/config.h"
#include "base/next.h"
#include "base/quiet.h"

// This type is the same in glibc and musl, and on both processors.
typedef void (*handler)(int);
struct action {
    handler handler;
    uint64_t mask[16];
    int flags;
    void (*restorer)(void);
};
enum { SIGINT = 2, SIGTERM = 15, SA_SIGINFO = 4, SA_RESTART = 0x10000000 };
enum { SI_USER = 0, SI_TKILL = -6 };
#define SIG_DFL ((handler)0)
#define SIG_IGN ((handler)1)
#define SA_RESETHAND ((int)0x80000000)

enum { GUARDED = 3 };
static int numbers[GUARDED] = {SIGINT, SIGTERM, 0}; // the last one asks for a snapshot
static struct action theirs[GUARDED];               // what the program has set: see remember
static uint64_t guarded_pid;                        // 0: no signal is handled
static int64_t last_snapshot;

static int set_action(int sig, const struct action *act, struct action *old) {
    int (*f)(int, const struct action *, struct action *) =
        (int (*)(int, const struct action *, struct action *))hl_next(HL_NEXT_sigaction);
    return f(sig, act, old);
}

static int which(int sig) {
    for (int i = 0; i < GUARDED && sig != 0; i++)
        if (numbers[i] == sig) return i;
    return -1;
}

// is_guarding reports whether this process handles signals. A child that shares memory with its
// parent (vfork) has the same handlers, but its calls must not change what the parent has set.
static bool is_guarding(void) { return (uint64_t)hl_syscall0(HL_SYS_getpid) == guarded_pid; }

static const struct hl_signal_hooks *hooks;

bool hl_signals_deserve(const struct hl_siginfo *info) {
    enum { RECENTLY = 1000000000 };
    bool from_itself = (info->code == SI_USER || info->code == SI_TKILL) &&
                       info->pid == (int)hl_syscall0(HL_SYS_getpid);
    if (from_itself || !is_guarding()) return false;
    int64_t now = hl_clock(HL_MONOTONIC);
    if (last_snapshot != 0 && now - last_snapshot < RECENTLY) return false;
    last_snapshot = now;
    return true;
}

// end lets the kernel end the process when the handler returns.
static void end(int sig) {
    struct action a = {.handler = SIG_DFL};
    set_action(sig, &a, NULL);
    hl_syscall3(HL_SYS_tgkill, hl_syscall0(HL_SYS_getpid), hl_syscall0(HL_SYS_gettid), sig);
}

static void on_signal(int sig, struct hl_siginfo *info, void *context) {
    if (hl_quiet_defer(sig, info, context)) return;
    int *e = __errno_location(), before = *e;
    int i = which(sig);
    handler program = __atomic_load_n(&theirs[i].handler, __ATOMIC_RELAXED);
    bool asks = i == GUARDED - 1, ready = true;
    if (asks)
        hooks->manual();
    else
        ready = hooks->last(sig, info, program == SIG_DFL);
    if (program == SIG_DFL && !asks && ready) end(sig);
    *e = before;
    if (program == SIG_DFL || program == SIG_IGN) return;
    if (__atomic_load_n(&theirs[i].flags, __ATOMIC_RELAXED) & SA_RESETHAND)
        __atomic_store_n(&theirs[i].handler, SIG_DFL, __ATOMIC_RELAXED);
    ((void (*)(int, struct hl_siginfo *, void *))program)(sig, info, context);
}

#define OURS ((handler)(void *)on_signal)

// remember keeps what the program has set, while another thread may run on_signal.
static void remember(struct action *to, const struct action *a) {
    memcpy(to->mask, a->mask, sizeof a->mask);
    to->restorer = a->restorer;
    __atomic_store_n(&to->flags, a->flags, __ATOMIC_RELAXED);
    __atomic_store_n(&to->handler, a->handler, __ATOMIC_RELAXED);
}

// guard keeps the disposition that the program has set, and installs the engine's handler.
static void guard(int i) {
    struct action a;
    if (set_action(numbers[i], NULL, &a) != 0 || a.handler == OURS) return;
    remember(&theirs[i], &a);
    if (a.handler == SIG_IGN && i != GUARDED - 1) return;
    if (a.handler == SIG_DFL || a.handler == SIG_IGN) a.flags = SA_RESTART;
    a.flags = (a.flags & ~SA_RESETHAND) | SA_SIGINFO;
    a.handler = OURS;
    set_action(numbers[i], &a, NULL);
}

void hl_signals_init(const struct hl_signal_hooks *with) {
    hooks = with;
    numbers[GUARDED - 1] = (int)hl_config.signal;
    guarded_pid = hl_process.pid;
    for (int i = 0; i < GUARDED; i++)
        if (numbers[i] != 0) guard(i);
    hl_quiet_start((void (*)(void))OURS);
}

void hl_signals_end(void) {
    if (guarded_pid == 0 || !is_guarding()) return;
    for (int i = 0; i < GUARDED; i++) {
        struct action a;
        bool ours = numbers[i] != 0 && set_action(numbers[i], NULL, &a) == 0 && a.handler == OURS;
        if (ours) set_action(numbers[i], &theirs[i], NULL);
    }
    guarded_pid = 0;
}

void hl_signals_forked(void) {
    if (guarded_pid != 0) guarded_pid = hl_process.pid;
}

static bool runs_code(handler h) {
    enum { SIG_HOLD = 2 }; // the greatest that is no function
    return (uintptr_t)h > SIG_HOLD;
}

HL_EXPORT int sigaction(int sig, const struct action *act, struct action *old) {
    bool changes = act != NULL; // act and old may be the same
    if (changes && runs_code(act->handler)) hl_quiet_stop();
    int i = guarded_pid != 0 ? which(sig) : -1, result = set_action(sig, act, old);
    if (i < 0 || result != 0) return result;
    if (old && old->handler == OURS) *old = theirs[i];
    if (changes && is_guarding()) guard(i);
    return result;
}

// set calls a function of the C library, and returns the program's own former
// handler.
static handler set(enum hl_next name, int sig, handler h) {
    handler (*f)(int, handler) = (handler (*)(int, handler))hl_next(name);
    if (!f) return (handler)(intptr_t)hl_not_implemented(); // SIG_ERR is -1
    if (runs_code(h)) hl_quiet_stop();
    int i = guarded_pid != 0 ? which(sig) : -1;
    handler old = f(sig, h);
    if (i < 0) return old;
    if (old == OURS) old = theirs[i].handler;
    if (is_guarding()) guard(i);
    return old;
}

#define SETTER(name)                                                                               \
    HL_EXPORT handler name(int sig, handler h) { return set(HL_NEXT_##name, sig, h); }
SETTER(signal)
SETTER(bsd_signal)
SETTER(ssignal)
SETTER(sysv_signal)
SETTER(__sysv_signal)
SETTER(sigset)
