// What testdata/blocks.c of each allocator has in common. Some threads allocate and free blocks, and keep a table of what
// they did, which the test reads. Arguments of the program: the number of operations of each thread, the number of
// threads, a seed, and "busy": then the threads go on.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Blocks by the order of their allocation, with what malloc_usable_size says + FOR_ZERO. A block that was freed has
// size 0, unless its address was handed out again.
struct entry {
    uint64_t address, size;
};
enum { MAX_THREADS = 16, MAX_ENTRIES = 1 << 16 };
struct thread {
    struct entry *entries;
    uint64_t count, seed;
} threads[MAX_THREADS];
uint64_t thread_count;
static int operations, busy;
static pthread_barrier_t done;

// The program has these: the sizes and alignments of blocks, and what a thread does last. It defines FOR_ZERO as 1 if
// blocks may have no usable bytes, else as 0.
static size_t draw_size(struct thread *t);
static size_t draw_alignment(struct thread *t);
static void finish(struct thread *t);

static uint64_t draw(struct thread *t, uint64_t below) {
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return (t->seed >> 33) % below;
}

static void *allocate_aligned(struct thread *t, size_t size) {
    size_t alignment = draw_alignment(t);
    void *p;
    return posix_memalign(&p, alignment, draw(t, 8) ? size : size + (200 << 10)) == 0 ? p : NULL;
}

static void note(struct thread *t, void *p) {
    t->entries[t->count++] = (struct entry){(uint64_t)p, malloc_usable_size(p) + FOR_ZERO};
}

static void allocate(struct thread *t) {
    size_t size = draw_size(t);
    void *p = draw(t, 16) ? malloc(size) : draw(t, 2) ? calloc(1, size) : allocate_aligned(t, size);
    if (p && draw(t, 20) == 0) p = realloc(p, draw_size(t) + 1);
    if (!p) abort();
    memset(p, 0xa5, malloc_usable_size(p));
    note(t, p);
}

static void release(struct entry *e) {
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
            e->address = (uint64_t)malloc(draw_size(t));
            e->size = malloc_usable_size((void *)e->address) + FOR_ZERO;
        }
    }
}

static void *work(void *arg) {
    struct thread *t = arg;
    if (busy) pthread_barrier_wait(&done), replace(t);
    for (int i = 0; i < operations; i++)
        if (draw(t, 5) < 3) allocate(t);
        else if (t->count > 0) release(&t->entries[draw(t, t->count)]);
    finish(t);
    pthread_barrier_wait(&done);
    for (;;) pause();
    return NULL;
}

// Starts the threads, and waits until they are done.
static void run_threads(int argc, char **argv) {
    operations = argc > 1 ? atoi(argv[1]) : 1000;
    thread_count = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    uint64_t seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    busy = argc > 4 && strcmp(argv[4], "busy") == 0;
    pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1);
    size_t table = sizeof(struct entry) * MAX_ENTRIES;
    for (uint64_t i = 0; i < thread_count; i++) {
        threads[i].entries = mmap(NULL, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        threads[i].seed = seed + i;
        pthread_t p;
        if (threads[i].entries == MAP_FAILED || pthread_create(&p, NULL, work, &threads[i]) != 0) abort();
    }
    pthread_barrier_wait(&done);
}

// Tells the test that the table is ready, and waits.
static void ready(void) {
    (void)!write(1, "ready\n", 6);
    for (;;) pause();
}
