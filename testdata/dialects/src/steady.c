/* steady SECONDS [RATE]: leaks 1024 bytes RATE times a second (default 50, that
 * is 50 KiB/s) in steady_leak; steady_table keeps 1 MiB from the start. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "pace.h"

static char *volatile last;

__attribute__((noinline)) static void steady_leak(int i) {
  char *p = malloc(1024);
  memset(p, i, 1024);
  last = p;
}

__attribute__((noinline)) static char **steady_table(int n) {
  char **table = malloc(n * sizeof(char *));
  for (int i = 0; i < n; i++) table[i] = memset(malloc(4096), i, 4096);
  return table;
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10, rate = argc > 2 ? atoi(argv[2]) : 50;
  char **table = steady_table(256);
  for (int i = 0; i < seconds * rate; i++) {
    steady_leak(i);
    pace(rate);
  }
  return table[0][0];
}
