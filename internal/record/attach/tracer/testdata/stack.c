// Waits in a system call, below functions with known names.
#include <stdio.h>
#include <unistd.h>

#define LEVEL(name, next)                                                                          \
    __attribute__((noinline)) int name(volatile int *depth) {                                      \
        volatile char space[100 + 50 * sizeof #name];                                              \
        space[0] = 1;                                                                              \
        ++*depth;                                                                                  \
        return next + space[0];                                                                    \
    }

static int wait_here(void) {
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
}
LEVEL(third, wait_here())
LEVEL(second, third(depth))
LEVEL(first, second(depth))

int main(void) {
    volatile int depth = 0;
    return first(&depth);
}
