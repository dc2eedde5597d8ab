// Allocates known amounts each time that it reads a byte, and frees them at the next byte. Of each
// size, every second block stays in use meanwhile. A block that is kept for ever grows each time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOTAL = 64 << 20, GROWTH = 4 << 20, STEP = 256 << 10 };

#define SITE(size)                                                                                 \
    static void *kept_##size[TOTAL / (size) / 2 + 1];                                              \
    __attribute__((noinline)) static void allocate_##size(void) {                                  \
        for (long i = 0; i * (size) < TOTAL; i++) {                                                \
            void *volatile p = malloc(size);                                                       \
            if (i % 2)                                                                             \
                free(p);                                                                           \
            else                                                                                   \
                kept_##size[i / 2] = p;                                                            \
        }                                                                                          \
    }                                                                                              \
    static void free_##size(void) {                                                                \
        for (long i = 0; i * (size) < TOTAL; i += 2) free(kept_##size[i / 2]);                     \
    }
SITE(16)
SITE(400)
SITE(4096)
SITE(60000)

static void answer(const char *what) {
    printf("%s\n", what);
    fflush(stdout);
    if (getchar() == EOF) exit(0);
}

int main(void) {
    setvbuf(stdin, NULL, _IONBF, 0);
    size_t size = 32 << 20;
    char *large = memset(malloc(size), 1, size);
    for (answer("ready");; answer("dropped")) {
        allocate_16();
        allocate_400();
        allocate_4096();
        allocate_60000();
        for (int i = 0; i < GROWTH / STEP; i++) large = realloc(large, size += STEP);
        if (large[(32 << 20) - 1] != 1) abort();
        answer("allocated");
        free_16();
        free_400();
        free_4096();
        free_60000();
    }
}
