// See blocks.h.
#define FOR_ZERO 0
#include "../../blocktest/testdata/blocks.h"

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

static size_t draw_alignment(struct thread *t) { return (size_t)32 << draw(t, 9); }

// Leaves the cache with some blocks of each size.
static void finish(struct thread *t) {
    for (size_t size = 8; size <= 1 << 15; size += size < 1024 ? 8 : 1024) {
        void *p[4];
        for (int i = 0; i < 4; i++) p[i] = malloc(size);
        for (int i = 0; i < 4; i++) {
            note(t, p[i]);
            if (i < 3) release(&t->entries[t->count - 1]);
        }
    }
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
    pthread_t p;
    if (pthread_create(&p, NULL, rest, NULL) != 0) abort();
    run_threads(argc, argv);
    if (!busy) create_cache(&threads[0]);
    ready();
}
