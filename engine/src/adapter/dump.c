#include "adapter/dump.h"

#include "adapter/timer.h"
#include "base/config.h"
#include "base/entry.h"
#include "base/problems.h"
#include "output/channel.h"
#include "output/events.h"
#include "output/snapshot.h"
#include "process/signals.h"

int open(const char *path, int flags, ...);
int close(int fd);

static int writing = -1; // the descriptor that the allocator writes the snapshot to
static bool discarding;  // what it writes is dropped
static int failed;       // the error of the first message that could not be sent
static char kind;        // of the snapshot, in jemalloc's name; 0: gperftools
static int64_t begun, begun_cpu;
static uint32_t count;

uint32_t hl_dump_count(void) { return count; }

// --- the process ---

static void forked(void) {
    hl_process.started = hl_clock(HL_MONOTONIC);
    hl_process.started_at = hl_clock(HL_REALTIME);
    hl_problems_forked();
    hl_events_forked();
    hl_channel_forked();
    hl_signals_forked();
    if (hl_config.children != HL_MAIN_ONLY) return;
    hl_live_as(HL_OFF);
    hl_signals_end();
}

bool hl_dump_is_wanted(void) {
    if (!hl_is_recording()) return false;
    uint64_t pid = (uint64_t)hl_syscall0(HL_SYS_getpid);
    if (pid != hl_process.pid || *hl_fork_mark != HL_FORK_NOTICED) {
        uint64_t signals = hl_signals_block();
        hl_fork_notice(true);
        hl_signals_restore(signals);
    }
    return hl_is_recording() && pid == hl_process.pid;
}

void hl_dump_init(void) { hl_fork_mark_init(forked); }

// --- the snapshot ---

static void report(const char *what) {
    hl_problem_error("write-failed", what, failed);
    hl_events_problems();
}

static void send(enum hl_message message, const void *data, size_t n) {
    if (failed == 0) failed = hl_channel_put(message, data, n);
}

// begin reports whether the snapshot can be sent.
static bool begin(void) {
    begun = hl_clock(HL_MONOTONIC);
    begun_cpu = hl_clock(HL_THREAD_CPU);
    failed = hl_channel_open();
    if (failed) { // the allocator's locks are held: the recorder is not waited for again
        hl_live_as(HL_OFF);
        return false;
    }
    hl_channel_until(begun + (int64_t)hl_config.patience * 1000000);
    send(HL_BEGIN, NULL, 0);
    if (failed) report("the recorder cannot be reached");
    return failed == 0;
}

// trigger_of returns why the allocator has taken the snapshot, as far as it tells.
static const char *trigger_of(const struct hl_snapshot_event *e) {
    switch (kind) {
    case 'f': return "exit";
    case 'm': return "signal";
    case 'u': return "high-water";
    case 'i':
    case HL_TIMED: return hl_config.every > 0 ? "time" : "allocated";
    default: return e->signal ? "exit" : "";
    }
}

static void finish(void) {
    struct hl_snapshot_event e = {.sequence = hl_channel_next(), .signal = hl_snapshot_signal};
    e.time = hl_clock(HL_REALTIME);
    e.duration = hl_clock(HL_MONOTONIC) - begun;
    e.cpu = hl_clock(HL_THREAD_CPU) - begun_cpu;
    e.trigger = trigger_of(&e);
    if (failed == 0) failed = hl_events_snapshot(&e);
    send(HL_COMMIT, &e.sequence, sizeof e.sequence);
    if (failed) {
        hl_channel_put(HL_ABORT, NULL, 0);
        report("a snapshot could not be written");
        return;
    }
    count++;
}

// --- the allocator's files ---

// kind_of returns the letter in the names of jemalloc (PREFIX.PID.SEQ.m3.heap), or 0.
static char kind_of(const char *name) {
    char letter = 0;
    for (; *name; name++)
        if (name[0] == '.' && name[1] >= 'a' && !hl_equal(name, ".heap")) letter = name[1];
    return letter;
}

// placeholder returns a descriptor that keeps the number of the allocator's file.
static int placeholder(void) {
    long fd = hl_channel_create();
    enum { O_WRONLY = 1 };
    return fd >= 0 ? (int)fd : open("/dev/null", O_WRONLY | HL_O_CLOEXEC);
}

int hl_dump_open(const char *path, int flags, unsigned mode) {
    // Copying the mappings to the end of a snapshot takes most of its time, so a discarded snapshot
    // gets none.
    if (writing >= 0 && discarding && hl_has_prefix(path, "/proc/"))
        return open("/dev/null", flags);
    if (!hl_has_prefix(path, HL_DUMP_PREFIX)) return open(path, flags, mode);
    kind = kind_of(path + sizeof HL_DUMP_PREFIX - 1);
    // jemalloc's snapshots at an interval in bytes are taken where its timer does not work.
    bool due = kind != 'i' || hl_config.every == 0 || hl_timer_is_due();
    discarding = !hl_dump_is_wanted() || hl_worker_waits() > 0 || !due || !begin();
    writing = placeholder();
    if (writing < 0 && !discarding) hl_channel_put(HL_ABORT, NULL, 0);
    return writing;
}

int hl_dump_creat(const char *path, unsigned mode) {
    enum { O_WRONLY = 1, O_CREAT = 0100, O_TRUNC = 01000 };
    return hl_dump_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

bool hl_dump_write(int fd, const void *data, size_t n) {
    if (fd < 0 || fd != writing) return false;
    for (size_t at = 0; !discarding && at < n; at += HL_MESSAGE / 2) {
        size_t rest = n - at;
        send(HL_DATA, (const char *)data + at, rest < HL_MESSAGE / 2 ? rest : HL_MESSAGE / 2);
    }
    return true;
}

int hl_dump_close(int fd) {
    if (fd < 0 || fd != writing) return close(fd);
    writing = -1;
    if (!discarding) finish();
    return close(fd);
}
