/* libsecond.so: second_record leaks 300 bytes a call (50 a second: 15 KiB/s);
 * laid out as libfirst.so is, so that its addresses may be the same ones. */
#include <stdlib.h>
#include <string.h>

static char *volatile last;

__attribute__((noinline)) static void second_record(int i) {
  char *p = malloc(300);
  memset(p, i, 300);
  last = p;
}

int work(int i) {
  second_record(i);
  return last[0];
}
