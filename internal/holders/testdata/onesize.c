// Keeps blocks of one size, so that all slabs of an allocator but the last of each size are full.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char **kept;

int main(void) {
    kept = malloc(100000 * sizeof *kept);
    for (int i = 0; i < 20000; i++) {
        kept[i] = malloc(300);
        memset(kept[i], 1, 300);
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
