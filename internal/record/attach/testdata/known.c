// Allocates blocks before and after heaplapse attaches. Each byte on standard input makes it do the
// next thing, which it then answers with a line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD = 200000, KEPT = 5000, STEPS = 16 };
static char *old[OLD], *kept[KEPT];

__attribute__((noinline)) static void keep(void) {
    for (int i = 0; i < KEPT; i++) {
        kept[i] = malloc(1000);
        kept[i][0] = 1;
    }
    __asm__ volatile("");
}

__attribute__((noinline)) static char *grow(char *p, size_t n) {
    char *q = realloc(p, n);
    __asm__ volatile("" : : "r"(q) : "memory");
    return q;
}

static void answer(const char *what) {
    printf("%s\n", what);
    fflush(stdout);
    if (getchar() == EOF) exit(0);
}

int main(void) {
    size_t size = 32 << 20;
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 0; i < OLD; i++) old[i] = memset(malloc(100), i, 100);
    char *large = memset(malloc(size), 1, size);
    answer("ready");
    for (int i = 0; i < OLD; i++) {
        if (old[i][99] != (char)i) abort();
        free(old[i]);
    }
    answer("freed");
    for (int i = 0; i < STEPS; i++) large = grow(large, size += 256 << 10);
    if (large[(32 << 20) - 1] != 1) abort();
    answer("grown");
    keep();
    answer("kept");
    for (int i = 0; i < KEPT; i++) free(kept[i]);
    answer("dropped");
    return 0;
}
