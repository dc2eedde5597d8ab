#include "adapter/last.h"

#include "adapter/dump.h"
#include "adapter/timer.h"
#include "base/config.h"
#include "output/snapshot.h"
#include "process/signals.h"

typedef void (*handler)(int);
handler signal(int sig, handler h);

struct stack {
    void *at;
    int flags;
    size_t size;
};
int sigaltstack(const struct stack *to, struct stack *from);

uint64_t hl_snapshot_signal;

static handler take;    // takes a snapshot unless the allocator is busy
static int take_signal; // its argument

// pointless reports whether a snapshot should not be taken: this process is not recorded, or the
// handler runs on an alternate stack, which is too small.
static bool pointless(void) {
    enum { ONSTACK = 1 };
    struct stack s = {NULL, 0, 0};
    return !hl_dump_is_wanted() || (sigaltstack(NULL, &s) == 0 && (s.flags & ONSTACK));
}

// snapshot takes a snapshot. It returns false if the allocator stays busy. If another thread uses
// the allocator, it is free soon. If the signal interrupted this thread in the allocator, the
// handler must return first.
static bool snapshot(int sig, uint32_t before) {
    enum { TRIES = 5, PAUSE = 10000000 };
    hl_snapshot_signal = (uint64_t)sig;
    for (int i = 0; i < TRIES && hl_dump_count() == before; i++) {
        take(take_signal);
        if (hl_dump_count() == before) hl_sleep(PAUSE);
    }
    hl_snapshot_signal = 0;
    return hl_dump_count() != before;
}

// again sends the signal to this process once more after a delay. It returns false if that is not
// possible.
static bool again(int sig) {
    enum { MONOTONIC = 1, DELAY = 100000000 };
    struct {
        uint64_t value;
        int signo, notify, pad[12];
    } event = {.signo = sig};
    struct {
        int64_t interval[2], first[2];
    } when = {.first = {0, DELAY}};
    int id = 0;
    return hl_syscall3(HL_SYS_timer_create, MONOTONIC, &event, &id) == 0 &&
           hl_syscall4(HL_SYS_timer_settime, id, 0, &when, NULL) == 0;
}

// last takes the last snapshot. If the signal will end the program, and the allocator is busy, the
// program must continue for a moment first. A second signal from outside ends it at once.
static bool last(int sig, const struct hl_siginfo *info, bool ends) {
    enum { SI_TIMER = -2, MOST_TRIES = 20 };
    static int tries;
    static uint32_t before; // number of snapshots before the first try
    bool first = tries == 0;
    if (first ? !hl_signals_deserve(info) || pointless() : info->code != SI_TIMER) return true;
    if (first) before = hl_dump_count();
    if (snapshot(sig, before) || !ends || ++tries > MOST_TRIES) return true;
    hl_timer_hurry();
    return !again(sig);
}

static const struct hl_signal_hooks hooks = {.last = last};

handler hl_last_signal(int sig, handler h) {
    enum { SIGINT = 2, SIGTERM = 15 };
    handler old = signal(sig, h);
    if (old || sig == SIGINT || sig == SIGTERM || !hl_dump_is_wanted()) return old;
    take_signal = sig;
    take = h;
    hl_signals_init(&hooks);
    return old;
}
