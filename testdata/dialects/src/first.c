/* libfirst.so: first_record leaks 700 bytes a call (50 a second: 34 KiB/s). */
#include <stdlib.h>
#include <string.h>

static char *volatile last;

__attribute__((noinline)) static void first_record(int i) {
  char *p = malloc(700);
  memset(p, i, 700);
  last = p;
}

int work(int i) {
  first_record(i);
  return last[0];
}
