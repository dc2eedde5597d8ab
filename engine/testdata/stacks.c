// Calls malloc on stacks of many kinds, for the test of the unwinder: deep recursion, frames whose
// size is known at run time only, aligned frames, signal handlers on their own stack and on the
// program's, a coroutine, threads, and libraries that are loaded and unloaded again; and paths
// drawn at random, whose frames lie where those of others lay, with their return addresses.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline)) static void leaf(void) {
    sink = malloc(10);
    free(sink);
}

__attribute__((noinline)) static int deep(int n) {
    volatile char room[32];
    room[0] = 1;
    if (n == 0) leaf();
    return n == 0 ? 0 : deep(n - 1) + room[0];
}

__attribute__((noinline)) static int dynamic(size_t n) {
    volatile char *room = __builtin_alloca(n);
    room[n - 1] = 1;
    leaf();
    return room[n - 1];
}

__attribute__((noinline)) static int aligned(int n) {
    volatile char room[64] __attribute__((aligned(64)));
    room[0] = (char)n;
    if (n > 0) aligned(n - 1);
    leaf();
    volatile char *more = __builtin_alloca((size_t)n * 16 + 16);
    more[0] = room[0];
    leaf();
    return more[0];
}

static void handler(int signal) {
    (void)signal;
    deep(5);
}

static void signals(void) {
    static char stack[1 << 16];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction here = {.sa_handler = handler};
    struct sigaction there = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &here, NULL);
    sigaction(SIGUSR2, &there, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
}

static ucontext_t main_context, coroutine_context;

static void coroutine(void) { deep(20); }

static void coroutines(void) {
    static char stack[1 << 16];
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = sizeof stack;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    swapcontext(&main_context, &coroutine_context);
}

static int compare(const void *a, const void *b) {
    leaf();
    return *(const int *)a - *(const int *)b;
}

static const char *libraries[2];

static void *all(void *unused) {
    int numbers[] = {3, 1, 2};
    for (int i = 0; i < 20; i++) {
        deep(i * 5);
        dynamic((size_t)i * 100 + 1);
        aligned(i);
        qsort(numbers, 3, sizeof *numbers, compare);
    }
    deep(700);
    deep(3000);
    (void)unused;
    for (int i = 0; libraries[i % 2] != NULL && i < 6; i++) {
        void *handle = dlopen(libraries[i % 2], RTLD_NOW);
        if (handle == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        int (*call)(void (*)(void)) = (int (*)(void (*)(void)))dlsym(handle, "call");
        call(leaf);
        dlclose(handle);
    }
    return NULL;
}

// --- paths drawn at random ---

static unsigned draw(unsigned below) {
    static unsigned x = 1;
    x = x * 1664525 + 1013904223;
    return (x >> 16) % below;
}

static int by_size(int depth), by_pointer(int depth);

// further calls the next function from one of two places, or from a third one again and again.
#define FURTHER(depth)                                                                             \
    (draw(2) ? by_size(depth) + 1 : draw(2) ? by_pointer(depth) - 1 : by_pointer(depth) * 3)

__attribute__((noinline)) static int by_size(int depth) {
    if (depth == 0) return leaf(), 0;
    int result = FURTHER(depth - 1);
    return draw(3) ? result : result + FURTHER(0);
}

// by_pointer has a frame that only its frame pointer finds. What it allocates is not cleared.
__attribute__((noinline)) static int by_pointer(int depth) {
    volatile char *room = __builtin_alloca(draw(4) * 16 + 16);
    room[0] = 1;
    if (depth == 0) return leaf(), 0;
    return FURTHER(depth - 1) + room[0];
}

int main(int argc, char **argv) {
    pthread_t threads[4];
    for (int i = 0; i < 2; i++) libraries[i] = argc > i + 1 ? argv[i + 1] : NULL;
    all(NULL);
    signals();
    coroutines();
    for (int i = 0; i < 3000; i++) by_size((int)draw(12));
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, all, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
