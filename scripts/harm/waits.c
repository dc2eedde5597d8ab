// Waits in many ways at the same time, and works in the kernel for long, and
// checks that each call returns what it should, not before its time and not
// much later. Usage: waits SECONDS. It says what was wrong, and ends with 1
// then.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { size = 4 << 20 };
static int seconds, wrong;
static struct timespec limit;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// check compares a result, and how long it took. A machine that does much else
// is late.
static void check(const char *name, double began, long got, long want, int error) {
    double took = now() - began;
    if (got == want && (want >= 0 || error == errno) && took >= seconds && took < 1.5 * seconds)
        return;
    printf("%s: %ld (%s) after %.3f s\n", name, got, got < 0 ? strerror(errno) : "", took);
    wrong = 1;
}

#define WAIT(name, want, error, ...)                                                               \
    static void *name(void *arg) {                                                                 \
        double began = now();                                                                      \
        long got;                                                                                  \
        __VA_ARGS__;                                                                               \
        check(#name, began, got, want, error);                                                     \
        return arg;                                                                                \
    }

static void pair(int *ends, int option) {
    struct timeval t = {seconds, 0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    if (option && setsockopt(ends[0], SOL_SOCKET, option, &t, sizeof t) != 0) abort();
}

// Reads all after the time.
static void *drain(void *arg) {
    static __thread char b[1 << 16];
    nanosleep(&limit, NULL);
    while (read(*(int *)arg, b, sizeof b) > 0) {
    }
    return NULL;
}
// Writes a half at once, and the other after the time.
static void *feed(void *arg) {
    if (write(*(int *)arg, "1234", 4) != 4) abort();
    nanosleep(&limit, NULL);
    if (write(*(int *)arg, "5678", 4) != 4) abort();
    return NULL;
}
static void start(void *(*f)(void *), void *arg) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, arg) != 0) abort();
}

static struct epoll_event event;
static char bytes[size];

// repeat makes a call that does not wait again and again, and returns the
// number of times that it did less than all.
static long repeat(ssize_t (*call)(int, void *, size_t), int fd, size_t amount, double began) {
    long less = 0;
    if (nice(10) < 0) abort();
    char *b = calloc(1, amount);
    while (now() - began < seconds) less += call(fd, b, amount) != (ssize_t)amount;
    free(b);
    return less;
}
static ssize_t put(int fd, void *b, size_t amount) { return write(fd, b, amount); }
// Reads what comes, without end.
static void *swallow(void *arg) {
    char b[1 << 16];
    int fd = *(int *)arg;
    while (read(fd, b, sizeof b) > 0) {
    }
    return NULL;
}

WAIT(in_epoll_wait, 0, 0, got = epoll_wait(epoll_create1(0), &event, 1, seconds * 1000))
WAIT(in_epoll_pwait, 0, 0, sigset_t s; sigemptyset(&s);
     got = epoll_pwait(epoll_create1(0), &event, 1, seconds * 1000, &s))
WAIT(in_semtimedop, -1, EAGAIN, struct sembuf b = {0, -1, 0}; int id = semget(IPC_PRIVATE, 1, 0600);
     got = semtimedop(id, &b, 1, &limit); int e = errno; semctl(id, 0, IPC_RMID); errno = e)
WAIT(in_sigtimedwait, -1, EAGAIN, sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2);
     got = sigtimedwait(&s, NULL, &limit))
WAIT(in_recv, -1, EAGAIN, int s[2]; char b[1]; pair(s, SO_RCVTIMEO); got = recv(s[0], b, 1, 0))
WAIT(in_read, -1, EAGAIN, int s[2]; char b[1]; pair(s, SO_RCVTIMEO); got = read(s[0], b, 1))
WAIT(in_recv_all, 8, 0, int s[2]; char b[8]; pair(s, 0); start(feed, &s[1]);
     got = recv(s[0], b, 8, MSG_WAITALL))
WAIT(in_write, size, 0, int p[2]; if (pipe(p) != 0) abort(); start(drain, &p[0]);
     got = write(p[1], bytes, size))
WAIT(in_send, size, 0, int s[2]; pair(s, 0); start(drain, &s[0]); got = send(s[1], bytes, size, 0))
WAIT(in_poll, 0, 0, got = poll(NULL, 0, seconds * 1000))
WAIT(in_nanosleep, 0, 0, got = nanosleep(&limit, NULL))
WAIT(in_sem, -1, ETIMEDOUT, sem_t s; sem_init(&s, 0, 0); struct timespec t;
     clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += seconds; t.tv_nsec = 999999999;
     got = sem_timedwait(&s, &t))
WAIT(in_random, 0, 0, got = repeat(read, open("/dev/urandom", O_RDONLY), size, began))
WAIT(in_pipe, 0, 0, int p[2]; if (pipe(p) != 0) abort(); start(swallow, &p[0]);
     got = repeat(put, p[1], 200000, began))

int main(int argc, char **argv) {
    seconds = argc > 1 ? atoi(argv[1]) : 4;
    limit.tv_sec = seconds;
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    void *(*const waits[])(void *) = {in_epoll_wait, in_epoll_pwait, in_semtimedop, in_sigtimedwait,
                                      in_recv,       in_read,        in_recv_all,   in_write,
                                      in_send,       in_poll,        in_nanosleep,  in_sem,
                                      in_random,     in_pipe};
    enum { n = sizeof waits / sizeof *waits };
    pthread_t t[n];
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, waits[i], NULL) != 0) abort();
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    return wrong;
}
