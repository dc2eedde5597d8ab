// Frees by an address of free that it took before: a recording that begins later does not see that.
// It keeps the last hundred blocks of each allocation function, and replaces all of them a hundred
// times at each byte that it reads.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT = 100, TIMES = 100, SIZE = 1000 };

static void *by_malloc(void *p) { return (void)p, malloc(SIZE); }
static void *by_calloc(void *p) { return (void)p, calloc(1, SIZE); }
static void *by_realloc(void *p) { return (void)p, realloc(NULL, SIZE); }
static void *by_memalign(void *p) { return (void)p, memalign(64, SIZE); }
static void *by_aligned(void *p) { return (void)p, aligned_alloc(64, SIZE); }
static void *by_posix(void *p) { return posix_memalign(&p, 64, SIZE) == 0 ? p : NULL; }

static void *(*const functions[])(void *) = {by_malloc,   by_calloc,  by_realloc,
                                             by_memalign, by_aligned, by_posix};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void *kept[FUNCTIONS][KEPT];

int main(void) {
    void (*volatile *release)(void *) = malloc(sizeof *release);
    *release = free;
    setvbuf(stdin, NULL, _IONBF, 0);
    for (const char *what = "ready";; what = "replaced") {
        printf("%s\n", what);
        fflush(stdout);
        if (getchar() == EOF) return 0;
        for (int i = 0; i < TIMES * KEPT; i++) {
            for (int f = 0; f < FUNCTIONS; f++) {
                (*release)(kept[f][i % KEPT]);
                kept[f][i % KEPT] = functions[f](NULL);
            }
        }
    }
}
