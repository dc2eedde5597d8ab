// Allocates and frees blocks in some threads, and keeps a table of what it did. Then it writes "ready" and waits.
// Arguments: the number of operations of each thread, the number of threads, a seed, and "busy": then the threads go on.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// What the test reads: blocks by the order of their allocation. A block that was freed has size 0, unless its address was
// handed out again.
struct entry {
    uint64_t address, size;
};
enum { MAX_THREADS = 16, MAX_ENTRIES = 1 << 16 };
struct thread {
    struct entry *entries;
    uint64_t count, seed;
} threads[MAX_THREADS];
uint64_t thread_count;
static int operations;
static pthread_barrier_t done;

static uint64_t draw(struct thread *t, uint64_t below) {
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return (t->seed >> 33) % below;
}

static size_t draw_size(struct thread *t) {
    switch (draw(t, 60)) {
    case 0: return 1 + draw(t, 300000);
    case 1: return 1024 + draw(t, 40000);
    case 2: return 0;
    case 3: return 1 + draw(t, 8);
    case 4: return draw(t, 10) ? 100 : 1 + draw(t, 5 << 20);
    default: return 1 + draw(t, 400);
    }
}

static void *allocate_aligned(struct thread *t, size_t size) {
    size_t alignment = (size_t)32 << draw(t, 9);
    void *p;
    return posix_memalign(&p, alignment, draw(t, 8) ? size : size + (200 << 10)) == 0 ? p : NULL;
}

static void allocate(struct thread *t) {
    size_t size = draw_size(t);
    void *p = draw(t, 16) ? malloc(size) : draw(t, 2) ? calloc(1, size) : allocate_aligned(t, size);
    if (!p) abort();
    memset(p, 0xa5, size);
    t->entries[t->count++] = (struct entry){(uint64_t)p, malloc_usable_size(p)};
}

static void release(struct thread *t) {
    if (t->count == 0) return;
    struct entry *e = &t->entries[draw(t, t->count)];
    if (e->size == 0) return;
    free((void *)e->address);
    e->size = 0;
}

// Replaces blocks without end, among 5,000.
static void replace(struct thread *t) {
    for (;;) {
        if (t->count < 5000) allocate(t);
        struct entry *e = &t->entries[draw(t, t->count)];
        if (e->size) {
            e->size = 0;
            free((void *)e->address);
            e->address = 0;
        } else {
            size_t size = draw_size(t);
            e->address = (uint64_t)malloc(size);
            e->size = malloc_usable_size((void *)e->address);
        }
    }
}

static int busy;
static void *work(void *arg) {
    struct thread *t = arg;
    if (busy) pthread_barrier_wait(&done), replace(t);
    for (int i = 0; i < operations; i++)
        if (draw(t, 5) < 3) allocate(t);
        else release(t);
    // Leave the cache with some blocks of each size.
    for (size_t size = 8; size <= 1 << 15; size += size < 1024 ? 8 : 1024) {
        void *p[4];
        for (int i = 0; i < 4; i++) p[i] = malloc(size);
        for (int i = 0; i < 4; i++) {
            t->entries[t->count++] = (struct entry){(uint64_t)p[i], i == 3 ? malloc_usable_size(p[i]) : 0};
            if (i < 3) free(p[i]);
        }
    }
    pthread_barrier_wait(&done);
    for (;;) pause();
    return NULL;
}

// The functions of jemalloc, if the program has it.
int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
void *mallocx(size_t, int) __attribute__((weak));
void dallocx(void *, int) __attribute__((weak));

// Frees blocks into a cache that the program creates.
static void create_cache(struct thread *t) {
    unsigned cache;
    size_t size = sizeof cache;
    if (!mallctl || mallctl("tcache.create", &cache, &size, NULL, 0) != 0) abort();
    int flags = (int)(cache + 2) << 8; // MALLOCX_TCACHE
    void *p[10];
    for (int i = 0; i < 10; i++) p[i] = mallocx(2000, flags);
    for (int i = 0; i < 10; i++) {
        t->entries[t->count++] = (struct entry){(uint64_t)p[i], 0};
        dallocx(p[i], flags);
    }
}

// A thread that does not use the allocator.
static void *rest(void *arg) {
    for (;;) pause();
    return arg;
}

int main(int argc, char **argv) {
    operations = argc > 1 ? atoi(argv[1]) : 1000;
    thread_count = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    uint64_t seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    busy = argc > 4 && strcmp(argv[4], "busy") == 0;
    pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1);
    size_t table = sizeof(struct entry) * MAX_ENTRIES;
    pthread_t p;
    if (pthread_create(&p, NULL, rest, NULL) != 0) abort();
    for (uint64_t i = 0; i < thread_count; i++) {
        threads[i].entries = mmap(NULL, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        threads[i].seed = seed + i;
        if (threads[i].entries == MAP_FAILED || pthread_create(&p, NULL, work, &threads[i]) != 0) abort();
    }
    pthread_barrier_wait(&done);
    if (!busy) create_cache(&threads[0]);
    (void)!write(1, "ready\n", 6);
    for (;;) pause();
}
