#include "base/quiet.h"

#include "base/entry.h"
#include "base/objects.h"

static uint32_t stopped = 1;      // is 0 while no signal can run code of the program
static void (*own_handler)(void); // the engine's

// A thread that takes a sample has the place of its thread pointer. Threads that have the same one
// block signals.
enum { PLACE_BITS = 7, PLACES = 1 << PLACE_BITS, WAITS = 1 };
static struct place {
    uintptr_t thread; // its pointer, which is aligned: the lowest bit tells that a signal waits
    uint64_t waiting; // the signals that wait
} __attribute__((aligned(64))) places[PLACES];

static struct place *place_of(uintptr_t thread) {
    return &places[thread * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PLACE_BITS)];
}

// --- handlers ---

enum { SIGNALS = 64, SET = 8 };

// struct action is the kernel's, whose first word is the handler on both processors.
struct action {
    uintptr_t handler;
    uint64_t rest[4];
};

// The C library handles a signal of its own as soon as there are threads: glibc changes the user of
// each thread by it, and musl cancels threads. Neither handler waits or allocates, unless a thread
// may be cancelled at any instruction.
enum { OF_C_LIBRARY = 33 };
static struct hl_symbol c_library = {.name = "sigaction"};

static bool is_of_c_library(int sig, uintptr_t handler) {
    return sig == OF_C_LIBRARY && handler >= c_library.object.start &&
           handler < c_library.object.end;
}

static bool has_handler(int sig) {
    enum { LAST_WITHOUT_CODE = 1 }; // SIG_DFL is 0, SIG_IGN is 1
    struct action a = {0, {0}};
    if (hl_syscall4(HL_SYS_rt_sigaction, sig, NULL, &a, SET) != 0) return true;
    return a.handler > LAST_WITHOUT_CODE && a.handler != (uintptr_t)own_handler &&
           !is_of_c_library(sig, a.handler);
}

static bool is_handled(void) {
    for (int sig = 1; sig <= SIGNALS; sig++)
        if (has_handler(sig)) return true;
    return false;
}

void hl_quiet_start(void (*own)(void)) {
    own_handler = own;
    hl_find_following(&c_library, 1);
    if (!is_handled()) __atomic_store_n(&stopped, 0, __ATOMIC_SEQ_CST);
}

void hl_quiet_stop(void) {
    enum { TRIES = 2000, PAUSE = 1000000 };
    if (__atomic_exchange_n(&stopped, 1, __ATOMIC_SEQ_CST) != 0) return;
    int tries = 0;
    for (size_t i = 0; i < PLACES; i++)
        while (__atomic_load_n(&places[i].thread, __ATOMIC_SEQ_CST) != 0 && tries++ < TRIES)
            hl_sleep(PAUSE);
}

void hl_quiet_look(void) {
    if (__atomic_load_n(&stopped, __ATOMIC_RELAXED) == 0 && is_handled()) hl_quiet_stop();
}

void hl_quiet_forked(void) {
    for (size_t i = 0; i < PLACES; i++)
        if (places[i].thread != 0) places[i] = (struct place){0, 0};
}

// --- samples ---

bool hl_quiet_begin(void) {
    uintptr_t thread = hl_thread_pointer(), none = 0;
    struct place *p = place_of(thread);
    if (__atomic_load_n(&stopped, __ATOMIC_RELAXED) != 0 || !hl_is_noticed()) return false;
    if (!__atomic_compare_exchange_n(&p->thread, &none, thread, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        return false;
    if (__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) == 0) return true;
    hl_quiet_end();
    return false;
}

void hl_quiet_end(void) {
    enum { SIG_UNBLOCK = 1 };
    uintptr_t thread = hl_thread_pointer();
    struct place *p = place_of(thread);
    if (__atomic_compare_exchange_n(&p->thread, &thread, 0, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return;
    uint64_t signals = p->waiting;
    p->waiting = 0;
    __atomic_store_n(&p->thread, 0, __ATOMIC_RELEASE);
    hl_syscall4(HL_SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, NULL, SET);
}

// The mask of signals in the kernel's struct ucontext.
#if defined(__x86_64__)
enum { MASK_OFFSET = 296 };
#else
enum { MASK_OFFSET = 40 };
#endif

bool hl_quiet_defer(int sig, void *info, void *context) {
    struct place *p = place_of(hl_thread_pointer());
    if ((__atomic_load_n(&p->thread, __ATOMIC_RELAXED) & ~(uintptr_t)WAITS) != hl_thread_pointer())
        return false;
    uint64_t bit = UINT64_C(1) << (sig - 1), mask;
    char *at = (char *)context + MASK_OFFSET;
    memcpy(&mask, at, sizeof mask);
    mask |= bit;
    memcpy(at, &mask, sizeof mask);
    p->waiting |= bit;
    __atomic_fetch_or(&p->thread, WAITS, __ATOMIC_RELAXED);
    // The signal is blocked while its handler runs, and by the mask from then on.
    long pid = hl_syscall0(HL_SYS_getpid), tid = hl_syscall0(HL_SYS_gettid);
    if (hl_syscall4(HL_SYS_rt_tgsigqueueinfo, pid, tid, sig, info) != 0)
        hl_syscall3(HL_SYS_tgkill, pid, tid, sig);
    return true;
}
