// A loop at a fixed rate of wall-clock time.
#pragma once
#include <time.h>

static inline void pace(long hertz) {
  static struct timespec next;
  if (next.tv_sec == 0) clock_gettime(CLOCK_MONOTONIC, &next);
  next.tv_nsec += 1000000000L / hertz;
  while (next.tv_nsec >= 1000000000L) {
    next.tv_nsec -= 1000000000L;
    next.tv_sec++;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}
