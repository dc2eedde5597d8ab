// Waits once in the way that its argument names, and checks that the call returns what it should, not before its time.
// It writes "ready" before, and "done" after that. The second argument is the time limit in seconds.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int seconds = 1, ends[2];
static struct timespec limit = {1, 0};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

// After a while, reads all that is written.
static void *drain(void *arg) {
    static char b[1 << 16];
    nanosleep(&limit, NULL);
    while (read(ends[0], b, sizeof b) > 0) {
    }
    return arg;
}

// Writes the second half after a while.
static void *feed(void *arg) {
    nanosleep(&limit, NULL);
    check(write(ends[1], "5678", 4) == 4, "write");
    return arg;
}

static void start(void *(*f)(void *)) {
    pthread_t t;
    check(pthread_create(&t, NULL, f, NULL) == 0, "pthread_create");
}

static void on_user(int s) { (void)s; }

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    static char buffer[4 << 20];
    if (argc > 2) limit.tv_sec = seconds = atoi(argv[2]);
    struct epoll_event e;
    struct timeval t = {seconds, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int poller = epoll_create1(0), own[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, own) == 0, "socketpair");
    check(setsockopt(own[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0, "setsockopt");
    check((strcmp(kind, "write") == 0 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) == 0, "pipe");
    double began = now();
    if (strcmp(kind, "write") == 0 || strcmp(kind, "send") == 0) start(drain);
    if (strcmp(kind, "recv all") == 0) {
        check(write(ends[1], "1234", 4) == 4, "write");
        start(feed);
    }
    puts("ready");
    fflush(stdout);
    if (strcmp(kind, "epoll_wait") == 0) check(epoll_wait(poller, &e, 1, seconds * 1000) == 0, kind);
    else if (strcmp(kind, "epoll_pwait") == 0) check(epoll_pwait(poller, &e, 1, seconds * 1000, &set) == 0, kind);
    else if (strcmp(kind, "epoll_pwait2") == 0) check(syscall(SYS_epoll_pwait2, poller, &e, 1, &limit, NULL, 8) == 0, kind);
    else if (strcmp(kind, "semtimedop") == 0) {
        struct sembuf b = {0, -1, 0};
        int id = semget(IPC_PRIVATE, 1, 0600), r = semtimedop(id, &b, 1, &limit), error = errno;
        semctl(id, 0, IPC_RMID);
        errno = error;
        check(r == -1 && errno == EAGAIN, kind);
    } else if (strcmp(kind, "sigtimedwait") == 0) check(sigtimedwait(&set, NULL, &limit) == -1 && errno == EAGAIN, kind);
    else if (strcmp(kind, "recv") == 0) check(recv(own[0], buffer, 1, 0) == -1 && errno == EAGAIN, kind);
    else if (strcmp(kind, "read") == 0) check(read(own[0], buffer, 1) == -1 && errno == EAGAIN, kind);
    else if (strcmp(kind, "accept") == 0) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        sa_family_t any = AF_UNIX;
        check(bind(s, (struct sockaddr *)&any, sizeof any) == 0 && listen(s, 1) == 0, "listen");
        check(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0, "setsockopt");
        check(accept(s, NULL, NULL) == -1 && errno == EAGAIN, kind);
    } else if (strcmp(kind, "io_uring") == 0) {
        struct io_uring_params p = {0};
        long ring = syscall(SYS_io_uring_setup, 4, &p);
        struct __kernel_timespec time = {seconds, 0};
        struct io_uring_getevents_arg arg = {.ts = (unsigned long)&time};
        if (ring < 0) nanosleep(&limit, NULL); // it is not permitted here
        else
            check(syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof arg) == -1 && errno == ETIME, kind);
    } else if (strcmp(kind, "write") == 0) check(write(ends[1], buffer, sizeof buffer) == sizeof buffer, "write");
    else if (strcmp(kind, "send") == 0) check(send(ends[1], buffer, sizeof buffer, 0) == sizeof buffer, "send");
    else if (strcmp(kind, "random") == 0) { // works without waiting, until it is killed
        int random = open("/dev/urandom", O_RDONLY);
        for (;;) check(read(random, buffer, sizeof buffer) == sizeof buffer, kind);
    } else if (strcmp(kind, "busy") == 0) {
        for (;;) __asm__ volatile("");
    } else if (strcmp(kind, "recv all") == 0) check(recv(ends[0], buffer, 8, MSG_WAITALL) == 8, "recv");
    else if (strcmp(kind, "poll") == 0) check(poll(NULL, 0, seconds * 1000) == 0, kind);
    else if (strcmp(kind, "nanosleep") == 0) check(nanosleep(&limit, NULL) == 0, kind);
    else if (strcmp(kind, "recv at least") == 0) {
        int least = 8;
        check(write(ends[1], "1234", 4) == 4, "write");
        check(setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least) == 0, "setsockopt");
        start(feed);
        check(recv(ends[0], buffer, 8, 0) == 8, kind);
    } else if (strcmp(kind, "ppoll") == 0) { // the kernel cannot write the rest of the time there
        struct timespec *t = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *t = limit;
        check(mprotect(t, 4096, PROT_READ) == 0, "mprotect");
        check(syscall(SYS_ppoll, NULL, 0, t, NULL, 8) == 0, kind);
    } else if (strcmp(kind, "terminal") == 0) { // returns what has come after a second at most
        int other = posix_openpt(O_RDWR | O_NOCTTY);
        check(grantpt(other) == 0 && unlockpt(other) == 0, "posix_openpt");
        int tty = open(ptsname(other), O_RDWR | O_NOCTTY);
        struct termios raw;
        check(tcgetattr(tty, &raw) == 0, "tcgetattr");
        cfmakeraw(&raw);
        raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 100;
        check(tcsetattr(tty, TCSANOW, &raw) == 0, "tcsetattr");
        check(read(tty, buffer, 8) == 0, kind);
    } else if (strcmp(kind, "signal") == 0) {
        struct sigaction a = {.sa_handler = on_user};
        sigaction(SIGUSR1, &a, NULL);
        check(epoll_wait(poller, &e, 1, -1) == -1 && errno == EINTR, kind);
        return 0;
    } else if (strcmp(kind, "handler") == 0) { // what a handler interrupts stays interrupted
        struct sigaction a = {.sa_handler = on_user};
        sigaction(SIGUSR1, &a, NULL);
        struct itimerspec once = {.it_value = limit};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
        timer_t timer;
        check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &once, NULL) == 0, "timer");
        check(epoll_wait(poller, &e, 1, -1) == -1 && errno == EINTR, kind);
    } else if (strcmp(kind, "ignored signals") == 0) { // a tracer sees them
        struct timespec ms = {0, 1000000};
        struct itimerspec often = {ms, ms};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
        timer_t timer;
        check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0, "timer");
        check(epoll_wait(poller, &e, 1, seconds * 1000) == 0, kind);
    } else
        check(0, "unknown argument");
    if (now() - began < seconds) {
        fprintf(stderr, "%s returned after %f s\n", kind, now() - began);
        return 1;
    }
    puts("done");
    return 0;
}
