// A server that never rests: threads that allocate, a thread that keeps what it allocates, others that
// fork, load libraries, visit them and create threads, until SIGTERM. Usage: soak PLUGIN SHARED. SHARED is a
// file of numbers for the test:
//
//	0  blocks that the keeper has begun to allocate
//	1  blocks that it has allocated
//	2  the longest round of a thread, in ns
//	3  set by the test: the keeper frees all, and sets it to 0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BEGUN, ALLOCATED, LONGEST, DROP, WORKERS = 4, RING = 256, KEPT_SIZE = 7777 };
static volatile sig_atomic_t stop;
static long *shared;
static const char *plugin;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

// lasted notes how long a round took.
static void lasted(long since) {
    long ns = now() - since, longest = __atomic_load_n(&shared[LONGEST], __ATOMIC_RELAXED);
    while (ns > longest && !__atomic_compare_exchange_n(&shared[LONGEST], &longest, ns, 0,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void pause_for(long us) {
    struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

static void *work(void *arg) {
    unsigned char *ring[RING] = {0};
    unsigned random = (unsigned)(size_t)arg;
    for (unsigned i = 0; !stop; i++) {
        long since = now();
        unsigned at = i % RING;
        size_t size = 16 + (random = random * 1103515245 + 12345) / 65536 % 4000;
        if (ring[at] && *ring[at] != (unsigned char)at) fail("another thread's block");
        free(ring[at]);
        ring[at] = malloc(size);
        memset(ring[at], (int)at, size);
        lasted(since);
        if (i % 64 == 0) pause_for(1000);
    }
    for (int i = 0; i < RING; i++) free(ring[i]);
    return arg;
}

static void *keep(void *arg) {
    struct block {
        struct block *next;
    } *all = NULL;
    while (!stop || all) {
        long since = now();
        if (stop || __atomic_load_n(&shared[DROP], __ATOMIC_ACQUIRE)) {
            while (all) {
                struct block *next = all->next;
                free(all);
                all = next;
            }
            __atomic_store_n(&shared[DROP], 0, __ATOMIC_RELEASE);
        } else {
            __atomic_fetch_add(&shared[BEGUN], 1, __ATOMIC_SEQ_CST);
            struct block *b = malloc(KEPT_SIZE);
            b->next = all;
            all = b;
            __atomic_fetch_add(&shared[ALLOCATED], 1, __ATOMIC_SEQ_CST);
        }
        lasted(since);
        pause_for(2000);
    }
    return arg;
}

static void *fork_all(void *arg) {
    while (!stop) {
        long since = now();
        int status;
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child == 0) {
            for (int i = 0; i < 100; i++) free(malloc(1000));
            _exit(7);
        }
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) fail("child");
        lasted(since);
        pause_for(50000);
    }
    return arg;
}

static void *load(void *arg) {
    while (!stop) {
        long since = now();
        void *h = dlopen(plugin, RTLD_NOW);
        if (!h) fail(dlerror());
        char *(*copy)(const char *) = (char *(*)(const char *))dlsym(h, "plugin_copy");
        char *p = copy("hello");
        if (strcmp(p, "hello") != 0) fail("copy");
        free(p);
        if (dlclose(h) != 0) fail("dlclose");
        lasted(since);
        pause_for(20000);
    }
    return arg;
}

static int visit(struct dl_phdr_info *object, size_t size, void *pass) {
    (void)object, (void)size, (void)pass;
    pause_for(2000);
    return 1;
}

// iterate has a lock of the loader most of the time. A child that is forked meanwhile never gets it.
static void *iterate(void *arg) {
    while (!stop) {
        long since = now();
        dl_iterate_phdr(visit, NULL);
        lasted(since);
        pause_for(500);
    }
    return arg;
}

static void *one(void *arg) {
    free(malloc(100));
    return arg;
}

static void *spawn(void *arg) {
    while (!stop) {
        long since = now();
        pthread_t t;
        if (pthread_create(&t, NULL, one, arg) != 0 || pthread_join(t, NULL) != 0) fail("thread");
        lasted(since);
        pause_for(10000);
    }
    return arg;
}

int main(int argc, char **argv) {
    void *(*const all[])(void *) = {work, work, work, work, keep, fork_all, load, spawn, iterate};
    enum { THREADS = sizeof all / sizeof *all };
    pthread_t t[THREADS];
    sigset_t term;
    int s, fd = argc > 2 ? open(argv[2], O_RDWR) : -1;
    plugin = argv[1];
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) fail("SHARED");
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, all[i], (void *)(i + 1));
    printf("ready\n");
    fflush(stdout);
    sigwait(&term, &s);
    stop = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("done\n");
    return 0;
}
