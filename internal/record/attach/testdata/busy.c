// Allocates, checks and frees in several threads, until SIGTERM. With the argument "leak" the first
// thread keeps a block of 1000 bytes each millisecond.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static void on_term(int s) { (void)s, stop = 1; }

enum { SLOTS = 256 };

static void check(const unsigned char *p, size_t n, unsigned char want) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != want) {
            fprintf(stderr, "data is wrong\n");
            abort();
        }
}

static void *work(void *arg) {
    unsigned seed = 1 + (unsigned)(uintptr_t)arg;
    static _Thread_local struct {
        unsigned char *p, value;
        size_t n;
    } slot[SLOTS];
    while (!stop) {
        unsigned i = (seed = seed * 1103515245 + 12345) >> 8 & (SLOTS - 1);
        if (slot[i].p) check(slot[i].p, slot[i].n, slot[i].value);
        size_t n = 16 + (seed >> 16) % 2000;
        if (seed & 0x1000) {
            free(slot[i].p);
            slot[i].p = malloc(n);
        } else {
            slot[i].p = realloc(slot[i].p, n);
        }
        slot[i].n = n;
        slot[i].value = (unsigned char)seed;
        memset(slot[i].p, slot[i].value, n);
    }
    return NULL;
}

__attribute__((noinline)) static void leak_here(void) {
    volatile char *p = malloc(1000);
    *p = 1;
}

static void *leak(void *arg) {
    struct timespec t = {0, 1000000};
    while (!stop) {
        leak_here();
        nanosleep(&t, NULL);
    }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1, leaks = argc > 2 && strcmp(argv[2], "leak") == 0;
    struct sigaction a = {.sa_handler = on_term};
    sigaction(SIGTERM, &a, NULL);
    pthread_t t[64], l;
    if (leaks) pthread_create(&l, NULL, leak, NULL);
    for (int i = 1; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
    printf("ready\n");
    fflush(stdout);
    if (threads > 0) work(NULL);
    while (!stop) pause();
    for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
    if (leaks) pthread_join(l, NULL);
    printf("done\n");
    return 0;
}
