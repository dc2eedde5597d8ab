// Holds blocks in all ways, and writes the truth to a table whose words are no addresses. Then it writes
// "ready" and waits.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum kind {
    GLOBAL, KERNEL, TLS, STACK, UNKNOWN, SHARED, // as in roots.go, less 1
    LOST = 20, UNDER_LOST, CYCLE, FREED,
};
enum { MANY = 500, TRUTH = 40000 };
struct truth { // the complement of the address
    uint64_t address, kind;
} truth[TRUTH];
uint64_t truths;

static void say(void *p, enum kind kind) { truth[truths++] = (struct truth){~(uint64_t)p, kind}; }

struct node {
    struct node *next;
    char payload[64];
    struct node *other;
};

static struct node *make(struct node *next, enum kind kind) {
    struct node *n = calloc(1, sizeof *n + truths % 7 * 16);
    n->next = next;
    say(n, kind);
    return n;
}

// The C library holds a text that the program holds, too, in fewer steps.
uint64_t environment_text; // the complement of its address
struct node *environment_list;

static struct node *list(int length, enum kind kind);

static void put_into_environment(void) {
    environment_list = list(5, GLOBAL);
    char *text = calloc(1, 200);
    memcpy(text, "HELD=twice", sizeof "HELD=twice");
    struct node *last = environment_list;
    while (last->next) last = last->next;
    last->other = (struct node *)text;
    environment_text = ~(uint64_t)text;
    if (putenv(text) != 0) abort();
}

static struct node *list(int length, enum kind kind) {
    struct node *n = NULL;
    while (length-- > 0) n = make(n, kind);
    return n;
}

struct node *global_list, *global_table[MANY], *initialized = (struct node *)1;
char *interior;
__thread struct node *thread_list, *thread_table[64];
struct node **shared, **mapped, **sealed;

// The blocks that only the kernel knows.
static void give_to_kernel(void) {
    int fd = epoll_create1(0);
    for (int i = 0; i < 50; i++) {
        int p[2];
        if (pipe(p) != 0) abort();
        struct epoll_event e = {EPOLLIN, {.ptr = list(3, KERNEL)}};
        epoll_ctl(fd, EPOLL_CTL_ADD, p[0], &e);
        memset(&e, 0, sizeof e);
    }
    timer_t t;
    struct sigevent s = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    s.sigev_value.sival_ptr = list(2, KERNEL);
    if (timer_create(CLOCK_MONOTONIC, &s, &t) != 0) abort();
    memset(&s, 0, sizeof s);
}

static void lose(void) {
    for (int i = 0; i < MANY; i++) {
        make(NULL, LOST);
        make(make(make(NULL, UNDER_LOST), UNDER_LOST), LOST);
        struct node *a = make(NULL, CYCLE), *b = make(a, CYCLE), *c = make(b, CYCLE);
        a->next = c;
        c->other = make(NULL, UNDER_LOST);
        truth[truths - 1].kind = CYCLE; // it hangs on a cycle
    }
}

static void hold(void) {
    global_list = list(20000, GLOBAL);
    for (int i = 0; i < MANY; i++) global_table[i] = list(3, GLOBAL);
    initialized = list(10, GLOBAL);
    struct node *n = list(5, GLOBAL);
    interior = n->payload + 8; // the only pointer is to the interior
    enum { PAGE = 4096 / sizeof(struct node *), PAGES = MANY * 4096 };
    shared = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sealed = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < MANY; i++) {
        shared[i * PAGE] = list(2, SHARED);
        mapped[2 * i + 3] = list(2, UNKNOWN);
        sealed[i * PAGE] = list(2, UNKNOWN);
    }
    mprotect(sealed, PAGES, PROT_READ);
    void *freed[MANY];
    for (int i = 0; i < MANY; i++) freed[i] = malloc(100 + (size_t)i);
    for (int i = 0; i < MANY; i++) {
        say(freed[i], FREED);
        memset(freed[i], 0, 100);
        free(freed[i]);
    }
}

static _Atomic int working;

static void *work(void *arg) {
    thread_list = list(30, TLS);
    struct node *local[40];
    for (int i = 0; i < 40; i++) local[i] = list(4, STACK);
    struct node *large = calloc(1, 400000); // a mapping of its own
    large->next = list(3, STACK);
    say(large, STACK);
    working++;
    for (;;) {
        pause();
        __asm__ volatile("" ::"r"(local), "r"(large) : "memory");
    }
    return arg;
}

// Overwrites what functions have left on the stack.
__attribute__((noinline)) static void clean(void) {
    volatile char b[64 << 10];
    memset((char *)b, 0, sizeof b);
}

// Most blocks are made by a thread that ends, so that no register and no stack has their addresses.
static void *prepare(void *arg) {
    give_to_kernel();
    lose();
    hold();
    clean();
    return arg;
}

int main(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, prepare, NULL) != 0) abort();
    pthread_join(t, NULL);
    put_into_environment();
    thread_list = list(20, TLS);
    for (int i = 0; i < 64; i++) thread_table[i] = make(NULL, TLS);
    struct node *local[30];
    for (int i = 0; i < 30; i++) local[i] = list(3, STACK);
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&t, NULL, work, NULL) != 0) abort();
        while (working <= i) usleep(100);
    }
    clean();
    (void)!write(1, "ready\n", 6);
    for (;;) {
        pause();
        __asm__ volatile("" ::"r"(local) : "memory");
    }
}
