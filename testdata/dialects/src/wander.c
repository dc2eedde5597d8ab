/* wander SECONDS: no leak at all. What wander_step holds goes up and down at
 * random around 1.5 MiB, once every 1.05 seconds; a series dumped only at new
 * records of the in-use size (HEAP_PROFILE_INUSE_INTERVAL) rises all the same. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

enum { BLOCK = 8192, MOST = 1024 };

static char *held[MOST];
static int count;

__attribute__((noinline)) static void wander_take(void) { held[count++] = memset(malloc(BLOCK), 1, BLOCK); }

__attribute__((noinline)) static void wander_step(int step) {
  for (; step > 0 && count < MOST; step--) wander_take();
  for (; step < 0 && count > 0; step++) free(held[--count]);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 60;
  uint64_t random = 88172645463325252ULL;
  for (int i = 0; i < seconds * 20 / 21; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    /* at most 24 blocks (192 KiB) up or down, drawn towards 192 blocks */
    int step = (int)(random % 49) - 24 + (192 - count) / 32;
    wander_step(step > 24 ? 24 : step < -24 ? -24 : step);
    for (int n = 0; n < 21; n++) pace(20);
  }
  return 0;
}
