// Threads that allocate, fork, set handlers of signals, receive signals, and give up rights, while the
// engine's own thread is created and ended all the time: for ThreadSanitizer, which reports what they
// do to each other. It checks nothing in a forked child: it turns itself off there.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "base/next.h"
#include "heap/operators.h"
#include "heap/record.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/trigger.h"
#include "output/writer.h"
#include "process/fork.h"
#include "process/signals.h"
#include "nochannel.h"

// What is not linked: operators, and the memory that is shared with the recorder.
void hl_operators_poll(void) {}
void hl_channel_until(int64_t deadline) { (void)deadline; }
bool hl_channel_leave(void) { return true; }

static pid_t parent;

// The engine's own thread is one of the C library. A child has none: the sanitizer cannot create threads
// there, so its snapshots are written by the thread that allocates.
struct beginning {
    void (*f)(void);
    int *id, begun;
};

static void *begin(void *arg) {
    struct beginning *b = arg;
    void (*f)(void) = b->f;
    __atomic_store_n(b->id, gettid(), __ATOMIC_RELAXED);
    __atomic_store_n(&b->begun, 1, __ATOMIC_RELEASE);
    f();
    return NULL;
}

long hl_clone(void (*f)(void), void *stack_end, int *id) {
    struct beginning b = {f, id, 0};
    pthread_t t;
    (void)stack_end;
    if (getpid() != parent || pthread_create(&t, NULL, begin, &b) != 0) return -1;
    pthread_detach(t);
    while (!__atomic_load_n(&b.begun, __ATOMIC_ACQUIRE)) usleep(10);
    return *id;
}

enum { THREADS = 3, FORKS = 20, RING = 64 };
static char blocks[THREADS + 1][RING][16];
static int stop, handled;

static void allocate_some(size_t self, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char *p = blocks[self][i % RING];
        hl_forget(p);
        allocate(p, 100 + i % 1000);
    }
}

static void *work(void *arg) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) allocate_some((size_t)arg, 100);
    return NULL;
}

// The hooks create no thread: the sanitizer may call a handler late, while its thread has a lock.
static bool last(int sig, const struct hl_siginfo *info, bool ends) {
    (void)sig, (void)ends;
    hl_signals_deserve(info);
    return true;
}
static void manual(void) {}
static const struct hl_signal_hooks hooks = {.last = last, .manual = manual};

static void count(int sig) { (void)sig, __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED); }

static void *set_handlers(void *arg) {
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        struct sigaction a = {.sa_handler = count}, old;
        sigaction(SIGINT, &a, &old);
        signal(SIGTERM, i % 2 ? count : SIG_IGN);
        sigaction(SIGTERM, NULL, &old);
        usleep(100);
    }
    return arg;
}

// give_up ends the writer. It does not call setuid: the C library would wait for the thread that creates
// the writer, which waits for the C library in pthread_create. The engine's own hl_clone does not.
static void *give_up(void *arg) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        usleep(2000);
    }
    return arg;
}

static void fork_once(void) {
    pid_t child = fork();
    if (child == 0) {
        allocate_some(THREADS, 100);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
}

static void *do_forks(void *arg) {
    for (int i = 0; i < FORKS; i++) {
        fork_once();
        usleep(20000);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    return arg;
}

int main(void) {
    enum { OTHERS = 3 };
    pthread_t t[THREADS + OTHERS];
    sigset_t all, none;
    hl_period = 256;
    hl_config.every = 1;
    hl_config.patience = 2000;
    hl_config.children = HL_ALL;
    hl_config.signal = SIGUSR1;
    hl_process.pid = (uint64_t)(parent = getpid());
    hl_process.page_size = 4096;
    hl_next_find();
    if (!hl_regions_init() || !hl_sites_init()) return 1;
    hl_unwind_init();
    hl_trigger_init();
    hl_fork_init();
    hl_signals_init(&hooks);
    hl_writer_share_files(); // else what the sanitizer writes from that thread would be lost
    signal(SIGINT, count);
    hl_live_as(HL_RECORDING);
    hl_threads_restart();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &none); // only the main thread is sent signals
    for (size_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    pthread_create(&t[THREADS], NULL, set_handlers, NULL);
    pthread_create(&t[THREADS + 1], NULL, give_up, NULL);
    pthread_create(&t[THREADS + 2], NULL, do_forks, NULL);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        kill(getpid(), SIGINT);
        kill(getpid(), SIGUSR1);
        usleep(5000);
    }
    for (size_t i = 0; i < THREADS + OTHERS; i++) pthread_join(t[i], NULL);
    hl_trigger_last(HL_EXIT);
    if (sent == 0 || handled == 0) return 2;
    puts("ok");
    return 0;
}
