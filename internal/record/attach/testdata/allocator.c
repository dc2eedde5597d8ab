// A program that defines malloc itself.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t n) {
    size_t *p = (size_t *)(heap + used);
    used += (n + 31) & ~(size_t)15;
    *p = n;
    return p + 2;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
void *realloc(void *p, size_t n) {
    void *q = malloc(n);
    return p ? memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n) : q;
}

int main(void) {
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
}
