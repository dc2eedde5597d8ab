// Waits in several threads by system calls that a stop may interrupt, until SIGTERM. It fails if one
// of them returns an error, or early, or late by much more than the machine explains. With a second
// argument, its main thread ends. With the argument "main", the main thread waits alone, by epoll_wait.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static void on_term(int s) { (void)s, stop = 1; }
static int quiet[2]; // a pipe into which nobody writes
enum { MS = 40 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void expect(const char *call, int result, int want, int error, int want_error, double before) {
    double waited = now() - before;
    if (result == want && (want != -1 || error == want_error) && waited >= MS - 1) return;
    fprintf(stderr, "%s returned %d (%s) after %.1f ms\n", call, result, strerror(error), waited);
    abort();
}

#define LOOP(name, call, want, want_error)                                                         \
    static void *name(void *arg) {                                                                 \
        struct timespec t = {0, MS * 1000000L};                                                    \
        (void)t;                                                                                   \
        while (!stop) {                                                                            \
            double before = now();                                                                 \
            errno = 0;                                                                             \
            int r = (call);                                                                        \
            if (stop) break;                                                                       \
            expect(#name, r, want, errno, want_error, before);                                     \
        }                                                                                          \
        return arg;                                                                                \
    }

static int epoll_fd, semaphores;
static struct epoll_event event;
static int do_select(void) {
    struct timeval t = {0, MS * 1000};
    fd_set s;
    FD_ZERO(&s);
    FD_SET(quiet[0], &s);
    return select(quiet[0] + 1, &s, NULL, NULL, &t);
}
static int do_poll(void) {
    struct pollfd p = {quiet[0], POLLIN, 0};
    return poll(&p, 1, MS);
}
static int do_wait_signal(struct timespec *t) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    return sigtimedwait(&s, NULL, t);
}
static int do_semaphore(struct timespec *t) {
    struct sembuf b = {0, -1, 0};
    return semtimedop(semaphores, &b, 1, t);
}
static int do_condition(void) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&m);
    int r = pthread_cond_timedwait(&c, &m, &t);
    pthread_mutex_unlock(&m);
    return r;
}

LOOP(epoll_wait_, epoll_wait(epoll_fd, &event, 1, MS), 0, 0)
LOOP(poll_, do_poll(), 0, 0)
LOOP(select_, do_select(), 0, 0)
LOOP(nanosleep_, nanosleep(&t, NULL), 0, 0)
LOOP(sigtimedwait_, do_wait_signal(&t), -1, EAGAIN)
LOOP(semtimedop_, do_semaphore(&t), -1, EAGAIN)
LOOP(condition_, do_condition(), ETIMEDOUT, 0)

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void *(*f)(void *);
    } all[] = {
        {"epoll", epoll_wait_},           {"poll", poll_},   {"select", select_},
        {"nanosleep", nanosleep_},        {"sigtimedwait", sigtimedwait_},
        {"semtimedop", semtimedop_},      {"condition", condition_},
    };
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigaddset(&term, SIGUSR2);
    sigprocmask(SIG_BLOCK, &term, NULL);
    if (pipe(quiet) != 0) return 2;
    epoll_fd = epoll_create1(0);
    struct epoll_event e = {EPOLLIN, {.fd = quiet[0]}};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, quiet[0], &e);
    if (argc == 2 && strcmp(argv[1], "main") == 0) {
        signal(SIGTERM, on_term);
        sigprocmask(SIG_UNBLOCK, &term, NULL);
        printf("ready\n");
        fflush(stdout);
        epoll_wait_(NULL);
        printf("done\n");
        return 0;
    }
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    pthread_t t[8];
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc < 2 || strcmp(argv[1], all[i].name) == 0) pthread_create(&t[n++], NULL, all[i].f, NULL);
    printf("ready\n");
    fflush(stdout);
    if (argc > 2) pthread_exit(NULL); // the other threads go on
    int s;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTERM);
    while (sigwait(&only, &s) != 0 || s != SIGTERM) {
    }
    stop = 1;
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    semctl(semaphores, 0, IPC_RMID);
    printf("done\n");
    return 0;
}
