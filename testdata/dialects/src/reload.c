/* reload SECONDS: loads libfirst.so, calls its work() for half the time, closes
 * it, loads libsecond.so and calls that one's work(). Both leak; the second is
 * usually mapped where the first was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "pace.h"

static void run(const char *name, int ticks) {
  void *library = dlopen(name, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "reload: %s\n", dlerror());
    exit(1);
  }
  int (*work)(int) = (int (*)(int))dlsym(library, "work");
  fprintf(stderr, "reload: %s: work at %p\n", name, (void *)work);
  for (int i = 0; i < ticks; i++) {
    work(i);
    pace(50);
  }
  dlclose(library);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 14;
  run("libfirst.so", seconds * 25);
  run("libsecond.so", seconds * 25);
  _Exit(0);
}
