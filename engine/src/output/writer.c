#include "output/writer.h"

#include "base/config.h"
#include "base/entry.h"
#include "base/files.h"
#include "base/quiet.h"
#include "base/text.h"
#include "output/channel.h"
#include "output/clone.h"
#include "output/events.h"
#include "output/trigger.h"
#include "unwind/stack.h"

enum { STACK = 64 << 10 };

// --- requests ---

static struct hl_lock requests;  // protects wanted and ticket
static uint32_t wanted;          // a bit for each trigger
static uint32_t ticket;          // number of the last request
static uint32_t wake;            // changes with each request; the writer waits for it
static uint32_t done;            // number of the last request whose snapshot has been written
static bool stop;                // the writer should end
static struct hl_lock snapshots; // held while a snapshot is written

static uint32_t post(enum hl_trigger trigger) {
    hl_lock(&requests);
    wanted |= 1u << trigger;
    uint32_t mine = ++ticket;
    hl_unlock(&requests);
    __atomic_fetch_add(&wake, 1, __ATOMIC_RELEASE);
    hl_futex_wake(&wake, 1);
    return mine;
}

static bool is_done(uint32_t mine) {
    return (int32_t)(__atomic_load_n(&done, __ATOMIC_ACQUIRE) - mine) >= 0;
}

// --- the timer ---

// The monotonic time of the last timed snapshot, and what it cost in ns. They are written while the
// lock of the snapshots is held, and read without it.
static int64_t last_timed, last_cost;

static int64_t value(const int64_t *v) { return __atomic_load_n(v, __ATOMIC_RELAXED); }
static void set(int64_t *v, int64_t to) { __atomic_store_n(v, to, __ATOMIC_RELAXED); }

// cost_of returns the time that a snapshot takes from the program: the processor time. The program
// does not wait for the recorder, unless it writes the snapshot itself; a slow disk is used for a
// tenth of the time.
static int64_t cost_of(int64_t elapsed, int64_t processor, bool program_waits) {
    enum { DISK_PART = 10 };
    int64_t disk = elapsed / DISK_PART;
    if (program_waits) return elapsed;
    return processor > disk ? processor : disk;
}

// until_due returns the time until the next timed snapshot, or -1 if there is none. Timed snapshots
// take at most 1 % of the time.
static int64_t until_due(void) {
    if (hl_config.every == 0 || hl_trigger_ended()) return -1;
    int64_t now = hl_clock(HL_MONOTONIC), wait = (int64_t)hl_config.every * 1000000;
    int64_t last = value(&last_timed), cost = value(&last_cost);
    if (last == 0) return hl_worker_waits();
    if (hl_config.part) {
        int64_t part = (now - hl_process.started) / (int64_t)hl_config.part;
        if (part > wait) wait = part;
    }
    if (cost * 100 > wait) wait = cost * 100;
    int64_t left = last + wait - now;
    return left > 0 ? left : 0;
}

// patience_ends returns the monotonic time up to which a thread of the program waits in all. Once
// it has waited in vain, it does not wait again before the writer has written something.
static int64_t patience_ends(void) {
    return hl_clock(HL_MONOTONIC) + (int64_t)hl_config.patience * 1000000;
}

static void write_on_stack(struct hl_stack *s, void *trigger) {
    (void)s;
    hl_snapshot_write(*(enum hl_trigger *)trigger);
}

enum { WRITER = 0 }; // the deadline of the writer, which has none

// begin_writing takes the lock of the snapshots. It returns false if another thread has it until a
// monotonic time.
static bool begin_writing(int64_t deadline) {
    enum { NAP = 1000000 };
    if (deadline == WRITER) hl_lock(&snapshots);
    while (deadline != WRITER && !hl_trylock(&snapshots)) {
        if (hl_clock(HL_MONOTONIC) >= deadline) return false;
        hl_sleep(NAP);
    }
    return true;
}

// write_wanted writes a snapshot if one is wanted or due. A thread of the program waits for the
// recorder, and for others that write, until the deadline.
static bool write_wanted(int64_t deadline) {
    bool program_waits = deadline != WRITER;
    if (!begin_writing(deadline)) return false;
    hl_quiet_look();
    hl_lock(&requests);
    uint32_t bits = wanted, number = ticket;
    wanted = 0;
    hl_unlock(&requests);
    bool timed = until_due() == 0;
    if (timed) bits |= 1u << HL_TIME;
    if (bits) {
        int64_t before = hl_clock(HL_MONOTONIC), cpu = hl_clock(HL_THREAD_CPU);
        hl_channel_until(deadline);
        enum hl_trigger last = (enum hl_trigger)(31 - __builtin_clz(bits));
        if (!program_waits || !hl_stack_use(write_on_stack, &last)) hl_snapshot_write(last);
        set(&last_cost,
            cost_of(hl_clock(HL_MONOTONIC) - before, hl_clock(HL_THREAD_CPU) - cpu, program_waits));
        if (timed) set(&last_timed, before);
    }
    __atomic_store_n(&done, number, __ATOMIC_RELEASE);
    hl_unlock(&snapshots);
    hl_futex_wake((uint32_t *)&done, INT32_MAX);
    return bits != 0;
}

// --- the thread ---

static struct hl_lock life; // held while the writer is created or ended
static int32_t id;          // its number; 0 before it is created
static char *stack;
static int64_t not_before; // it must not be created before this monotonic time

static bool is_alive(void) {
    int32_t was = __atomic_load_n(&id, __ATOMIC_RELAXED);
    if (was == 0) return false;
    if (hl_syscall3(HL_SYS_tgkill, hl_process.pid, was, 0) != -HL_ESRCH) return true;
    __atomic_compare_exchange_n(&id, &was, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return false;
}

static bool shares_files; // the thread uses the program's file descriptors

// separate gives the thread file descriptors of its own, of which none is open, and a working
// directory of its own.
static bool separate(void) {
    enum { CLOSE_RANGE_UNSHARE = 2 };
    hl_syscall1(HL_SYS_unshare, HL_CLONE_FS);
    if (__atomic_load_n(&shares_files, __ATOMIC_ACQUIRE)) return true;
    if (hl_syscall3(HL_SYS_close_range, 0, UINT32_MAX, CLOSE_RANGE_UNSHARE) == 0) return true;
    if (hl_syscall1(HL_SYS_unshare, HL_CLONE_FILES) != 0) return false;
    // Before Linux 5.9: close one by one. The limit of open files is at least their number, unless
    // it was lowered meanwhile.
    struct {
        uint64_t current, maximum;
    } limit = {0, 0};
    enum { RLIMIT_NOFILE = 7, MOST = 1 << 20 };
    hl_syscall4(HL_SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    uint64_t n = limit.current < MOST ? limit.current : MOST;
    for (uint64_t fd = 0; fd < n; fd++) hl_syscall1(HL_SYS_close, fd);
    return true;
}

// is_alone reports whether all other threads have ended. The kernel keeps the first thread of a
// process as a zombie until then.
static bool is_alone(void) {
    char text[512];
    if (hl_file_read("/proc/self/stat", text, sizeof text) <= 0) return false;
    const char *state = NULL;
    for (const char *s = text; *s; s++) // the name of the program may contain anything
        if (*s == ')') state = s + 2;
    if (!state || *state != 'Z') return false;
    enum { STATE = 3, THREADS = 20 };
    const char *s = state;
    for (int field = STATE; field < THREADS && *s; s++) field += *s == ' ';
    uint64_t threads;
    return hl_parse_number(&s, &threads) && threads <= 2;
}

static void run(void) {
    const int64_t look_every = 10000000000; // for the end of the other threads
    if (!separate()) {
        not_before = INT64_MAX;
        return;
    }
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        uint32_t seen = __atomic_load_n(&wake, __ATOMIC_ACQUIRE);
        if (write_wanted(WRITER)) continue;
        int64_t wait = until_due();
        hl_futex_wait(&wake, seen, wait < 0 || wait > look_every ? look_every : wait);
        if (__atomic_load_n(&wake, __ATOMIC_ACQUIRE) == seen && is_alone()) break;
    }
}

// create creates the writer if it does not run. It reports whether it runs.
static bool create(void) {
    enum { RETRY_AFTER = 1000000000 };
    hl_lock(&life);
    bool runs = is_alive();
    if (!runs && hl_clock(HL_MONOTONIC) >= not_before) {
        if (!stack) stack = hl_pages_alloc(STACK);
        __atomic_store_n(&stop, false, __ATOMIC_RELEASE);
        runs = stack && hl_clone(run, stack + STACK, &id) > 0;
        if (!runs) {
            id = 0;
            not_before = hl_clock(HL_MONOTONIC) + RETRY_AFTER;
        }
    }
    hl_unlock(&life);
    return runs;
}

// --- the interface ---

void hl_writer_request(enum hl_trigger trigger) {
    post(trigger);
    if (!create()) write_wanted(patience_ends());
}

static uint32_t stalled_at; // the number of done when a wait was in vain, plus one; 0: none was

static bool is_stalled(void) {
    uint32_t at = __atomic_load_n(&stalled_at, __ATOMIC_RELAXED);
    return at != 0 && at - 1 == __atomic_load_n(&done, __ATOMIC_ACQUIRE);
}

static void stall(void) {
    __atomic_store_n(&stalled_at, __atomic_load_n(&done, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELAXED);
}

// wait_for waits until the request with the given number, and those before it, are done.
static void wait_for(uint32_t number) {
    int64_t end = patience_ends();
    while (!is_done(number) && !is_stalled()) {
        uint32_t seen = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
        if (is_done(number)) break;
        if (hl_clock(HL_MONOTONIC) >= end)
            stall();
        else if (is_alive())
            hl_futex_wait(&done, seen, 100000000);
        else
            write_wanted(end);
    }
}

void hl_writer_now(enum hl_trigger trigger) {
    uint32_t mine = post(trigger);
    create();
    wait_for(mine);
}

void hl_writer_leave(void) {
    if (!is_stalled() && !hl_channel_leave()) stall();
}

void hl_writer_finish(void) { wait_for(__atomic_load_n(&ticket, __ATOMIC_ACQUIRE)); }

static bool was_created(void) { return __atomic_load_n(&id, __ATOMIC_RELAXED) != 0; }

bool hl_writer_is_missing(void) { return hl_config.every != 0 && !was_created(); }

void hl_writer_keep(void) {
    if (!create() && until_due() == 0) write_wanted(patience_ends());
}

void hl_writer_stop(int64_t pause) {
    enum { SPINS = 64, NAP = 50000 };
    if (!was_created()) return;
    uint64_t signals = hl_enter_slow_path();
    // A child that shares the memory of its parent (vfork) has no writer.
    bool is_own = (uint64_t)hl_syscall0(HL_SYS_getpid) == hl_process.pid;
    hl_lock(&life);
    if (is_own && is_alive()) {
        int64_t end = is_stalled() ? 0 : patience_ends();
        __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
        __atomic_fetch_add(&wake, 1, __ATOMIC_RELEASE);
        hl_futex_wake(&wake, 1);
        for (int i = 0; is_alive() && hl_clock(HL_MONOTONIC) < end; i++)
            hl_sleep(i < SPINS ? 1 : NAP);
        if (was_created()) stall(); // it ends as soon as the disk lets it
        not_before = hl_clock(HL_MONOTONIC) + pause;
    }
    hl_unlock(&life);
    hl_signals_restore(signals);
}

void hl_writer_share_files(void) {
    if (!__atomic_exchange_n(&shares_files, true, __ATOMIC_ACQ_REL)) hl_writer_stop(0);
}

void hl_writer_restart(void) {
    hl_writer_forked();
    not_before = 0;
    last_cost = 0;
}

void hl_writer_forked(void) {
    requests.state = snapshots.state = life.state = 0;
    id = 0;
    wanted = 0;
    done = ticket;
    stalled_at = 0;
    last_timed = 0;
}
