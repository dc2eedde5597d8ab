// A program of which snapshots are taken. It writes "ready", and then does what its first argument
// says until SIGTERM. It checks that nothing disturbs it, and writes "done" at the end.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop, children_ended;
static void on_term(int s) { (void)s, stop = 1; }
static void on_child(int s) { (void)s, children_ended++; }

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

static void ready(void) {
    printf("ready\n");
    fflush(stdout);
}

static void nap(void) {
    struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
}

// Two words that always have the same value, except while threads run: a snapshot must see them equal or
// one apart.
volatile uint64_t first_word = 1, second_word = 1;

static void *count(void *arg) {
    while (!stop) first_word++, second_word++;
    return arg;
}

// Threads that compute with all kinds of registers and check the results.
static void *compute(void *arg) {
    while (!stop) {
        double sum = 0;
        uint64_t h = 1;
        for (int i = 1; i < 20000; i++) sum += 1.0 / i, h = h * 31 + (uint64_t)i;
        if (sum < 10.480677 || sum > 10.480679 || h != 576329151298012911u) fail("computed a wrong value");
    }
    return arg;
}

// A loop of waitpid for children that this program creates itself, one after the other.
static void children(void) {
    signal(SIGCHLD, on_child);
    ready();
    for (int n = 1; !stop; n++) {
        pid_t child = fork();
        if (child == 0) _exit(n & 0x7f);
        int status;
        pid_t got;
        while ((got = waitpid(-1, &status, 0)) == -1 && errno == EINTR) {
        }
        if (got != child || !WIFEXITED(status) || WEXITSTATUS(status) != (n & 0x7f)) fail("waitpid saw a stranger");
        if (children_ended != n) fail("SIGCHLD without a child");
        if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD) fail("there is a stranger");
        nap();
    }
}

// Without children, waitpid must say so, and no signal may come.
static void childless(void) {
    signal(SIGCHLD, on_child);
    ready();
    int status;
    while (!stop) {
        if (waitpid(-1, &status, 0) != -1 || errno != ECHILD) fail("waitpid saw a stranger");
        if (children_ended) fail("SIGCHLD");
        nap();
    }
}

// What is closed is closed: the other end sees it, a lock is free, and epoll does not report it.
static void files(void) {
    char name[] = "/tmp/holders-XXXXXX";
    int lock = mkstemp(name), poll = epoll_create1(0);
    ready();
    while (!stop) {
        int p[2], locked = open(name, O_RDWR);
        if (pipe(p) != 0 || locked < 0) fail("pipe");
        struct epoll_event e = {EPOLLIN, {.u64 = 42}};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, p[0], &e) != 0) fail("epoll_ctl");
        if (lockf(locked, F_TLOCK, 0) != 0) fail("lockf");
        nap();
        int other = dup(p[0]);
        close(p[1]); // the last writer
        char c;
        fcntl(other, F_SETFL, O_NONBLOCK);
        if (read(other, &c, 1) != 0) fail("the end of a pipe was not seen");
        close(p[0]), close(other), close(locked);
        if (epoll_wait(poll, &e, 1, 0) != 0) fail("epoll reports a file that is closed");
    }
    unlink(name);
    close(lock);
}

// System calls that a stop interrupts must go on.
static int poller, semaphores;
static void *in_epoll(void *arg) {
    struct epoll_event e;
    while (!stop)
        if (epoll_wait(poller, &e, 1, 30) != 0 && !stop) fail("epoll_wait");
    return arg;
}
static void *in_sleep(void *arg) {
    struct timespec t = {0, 30000000};
    while (!stop)
        if (nanosleep(&t, NULL) != 0 && !stop) fail("nanosleep");
    return arg;
}
static void *in_semaphore(void *arg) {
    struct timespec t = {0, 30000000};
    struct sembuf b = {0, -1, 0};
    while (!stop)
        if ((semtimedop(semaphores, &b, 1, &t) != -1 || errno != EAGAIN) && !stop) fail("semtimedop");
    return arg;
}
static void *in_sigwait(void *arg) {
    struct timespec t = {0, 30000000};
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    while (!stop)
        if ((sigtimedwait(&s, NULL, &t) != -1 || errno != EAGAIN) && !stop) fail("sigtimedwait");
    return arg;
}
static int pipe_ends[2];
static void *in_read(void *arg) {
    char c;
    if (read(pipe_ends[0], &c, 1) != 1) fail("read");
    return arg;
}
static void *short_lived(void *arg) { return arg; }
static void *churn(void *arg) {
    while (!stop) {
        pthread_t t;
        if (pthread_create(&t, NULL, short_lived, NULL) != 0) fail("pthread_create");
        pthread_join(t, NULL);
    }
    return arg;
}

static void with_threads(void *(*const *f)(void *), int n) {
    pthread_t t[16];
    // SIGTERM is for the main thread.
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigaddset(&term, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, f[i], NULL) != 0) fail("pthread_create");
    sigdelset(&term, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &term, NULL);
    ready();
    while (!stop) nap();
    if (write(pipe_ends[1], "x", 1) < 0 && pipe_ends[1]) fail("write");
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}

static void filter(unsigned call, unsigned action) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {sizeof f / sizeof *f, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != 0) fail("seccomp");
}

// One word in a register only, one in a vector register only: what SP points to is known, too.
static void registers(void) {
    ready();
    __asm__ volatile("mov $0x1122334455667788, %%r12\n\t"
                     "mov $0x99aabbccddeeff00, %%rax\n\t"
                     "movq %%rax, %%xmm9\n\t"
                     "xor %%eax, %%eax\n\t"
                     "1: pause\n\t"
                     "cmpl $0, %0\n\t"
                     "je 1b" ::"m"(stop)
                     : "rax", "r12", "xmm9");
}

// vfork: the child waits while this thread does.
static void in_vfork(void) {
    ready();
    char seconds[] = "3600", *argv[] = {"sleep", seconds, NULL};
    pid_t child = vfork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct timespec t = {3600, 0};
        nanosleep(&t, NULL);
        execvp("sleep", argv);
        _exit(1);
    }
}

// Memory that a fork leaves out.
void *excluded;
static void without(void) {
    excluded = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(excluded, 1, 1 << 20);
    if (madvise(excluded, 1 << 20, MADV_DONTFORK) != 0) fail("madvise");
    printf("%p\n", excluded);
    ready();
    while (!stop) nap();
}

// Signals for the whole group, many and fast.
static volatile sig_atomic_t alarms;
static void on_alarm(int s) { (void)s, alarms++; }
static void signals(void) {
    signal(SIGALRM, on_alarm);
    struct timespec t = {0, 1000000};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0) fail("timer_create");
    struct itimerspec every = {t, t};
    timer_settime(timer, 0, &every, NULL);
    ready();
    while (!stop) {
        sig_atomic_t before = alarms;
        for (int i = 0; i < 10000 && before == alarms && !stop; i++) nap();
        if (before == alarms && !stop) fail("no signals any more");
    }
}

// Executes itself when SIGUSR1 comes.
static volatile sig_atomic_t wanted;
static void on_user(int s) { (void)s, wanted = 1; }
static void execute(void) {
    char self[] = "/proc/self/exe", name[] = "host", *argv[] = {name, NULL};
    signal(SIGUSR1, on_user);
    ready();
    while (!wanted) nap();
    execv(self, argv);
    fail("execv");
}

static void *in_nap(void *arg) {
    while (!stop) nap(), nap(), nap(), nap(), nap(), nap(), nap(), nap(), nap(), nap();
    return arg;
}
static void many(void) {
    pthread_t t[200];
    for (int i = 0; i < 200; i++)
        if (pthread_create(&t[i], NULL, in_nap, NULL) != 0) fail("pthread_create");
    ready();
    while (!stop) nap();
    for (int i = 0; i < 200; i++) pthread_join(t[i], NULL);
}

// Waits in a call that a stop would end early: with another thread, or alone.
static void asleep(int alone) {
    int s[2];
    char c;
    pthread_t t;
    struct timeval hour = {3600, 0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0) fail("socketpair");
    if (setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour) != 0) fail("setsockopt");
    if (!alone && pthread_create(&t, NULL, in_nap, NULL) != 0) fail("pthread_create");
    ready();
    if (recv(s[0], &c, 1, 0) != -1 || !stop) fail("recv");
    if (!alone) pthread_join(t, NULL);
}

static void leaderless(void) {
    pthread_t t;
    pthread_create(&t, NULL, in_nap, NULL);
    ready();
    pthread_exit(NULL);
}

// Fills memory, and makes the first page of it unreadable.
static void memory(void) {
    char *p = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) fail("mmap");
    memset(p, 1, 32 << 20);
    if (mprotect(p, 4096, PROT_NONE) != 0) fail("mprotect");
    printf("%p\n", (void *)p);
    ready();
    while (!stop) nap();
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    struct sigaction a = {.sa_handler = on_term}; // without SA_RESTART
    sigaction(SIGTERM, &a, NULL);
    if (strcmp(kind, "children") == 0) children();
    else if (strcmp(kind, "childless") == 0) childless();
    else if (strcmp(kind, "files") == 0) files();
    else if (strcmp(kind, "registers") == 0) registers();
    else if (strcmp(kind, "vfork") == 0) in_vfork();
    else if (strcmp(kind, "without") == 0) without();
    else if (strcmp(kind, "signals") == 0) signals();
    else if (strcmp(kind, "exec") == 0) execute();
    else if (strcmp(kind, "many") == 0) many();
    else if (strcmp(kind, "memory") == 0) memory();
    else if (strcmp(kind, "leaderless") == 0) leaderless();
    else if (strcmp(kind, "asleep") == 0) asleep(0);
    else if (strcmp(kind, "asleep alone") == 0) asleep(1);
    else if (strcmp(kind, "unshare") == 0) {
        if (unshare(CLONE_NEWPID) != 0) fail("unshare");
        ready();
        while (!stop) nap();
    } else if (strcmp(kind, "user") == 0) { // one process is what this user may have
        struct rlimit one = {1, 1};
        if (setrlimit(RLIMIT_NPROC, &one) != 0 || setgid(54321) != 0 || setuid(54321) != 0) fail("setuid");
        ready();
        while (!stop) nap();
    } else if (strcmp(kind, "filter") == 0) {
        unsigned call = (unsigned)atoi(argv[2]), action = (unsigned)strtoul(argv[3], NULL, 0);
        filter(call, action);
        ready();
        while (!stop) nap();
    } else if (strcmp(kind, "ignore") == 0) {
        signal(SIGCHLD, SIG_IGN);
        ready();
        while (!stop) nap();
    } else if (strcmp(kind, "threads") == 0) {
        void *(*const f[])(void *) = {count, compute, compute, churn};
        with_threads(f, 4);
    } else if (strcmp(kind, "waits") == 0) {
        if (pipe(pipe_ends) != 0) fail("pipe");
        poller = epoll_create1(0);
        semaphores = semget(IPC_PRIVATE, 1, 0600);
        void *(*const f[])(void *) = {in_epoll, in_sleep, in_semaphore, in_sigwait, in_read};
        with_threads(f, 5);
        semctl(semaphores, 0, IPC_RMID);
    } else {
        ready();
        while (!stop) nap();
    }
    printf("done\n");
    return 0;
}
