// A library to preload: it counts the calls of malloc, calloc and realloc in the file that COUNTING
// names, and calls the next library's functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MALLOC, CALLOC, REALLOC, KINDS };
static uint64_t early[KINDS], *counts = early;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

// Blocks that dlsym requests while the functions are being looked up.
static char first[4096] __attribute__((aligned(16)));
static size_t first_used;

static int is_first(void *p) { return (char *)p >= first && (char *)p < first + sizeof first; }

static void *take_first(size_t n) {
    n = (n + 15) & ~(size_t)15;
    if (n > sizeof first - first_used) abort();
    return first + (first_used += n) - n;
}

static int find(void) {
    static int finding;
    if (next_free) return 1;
    if (finding) return 0;
    finding = 1;
    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    return 1;
}

static void count(int kind) { __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED); }

void *malloc(size_t n) {
    count(MALLOC);
    return find() ? next_malloc(n) : take_first(n);
}

void *calloc(size_t n, size_t size) {
    count(CALLOC);
    return find() ? next_calloc(n, size) : take_first(n * size);
}

void *realloc(void *p, size_t n) {
    count(REALLOC);
    if (!find()) abort();
    if (!is_first(p)) return next_realloc(p, n);
    void *copy = next_malloc(n);
    size_t room = (size_t)(first + sizeof first - (char *)p);
    return copy ? memcpy(copy, p, n < room ? n : room) : NULL;
}

void free(void *p) {
    if (p && !is_first(p) && find()) next_free(p);
}

__attribute__((constructor)) static void share(void) {
    const char *path = getenv("COUNTING");
    int fd = path ? open(path, O_RDWR) : -1;
    if (fd < 0) return;
    void *shared = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) return;
    memcpy(shared, early, sizeof early);
    counts = shared;
}
