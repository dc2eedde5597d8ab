// Has a thread-local variable in a library that is loaded by dlopen.
#include <stdlib.h>

static __thread void *loaded;

void *load(void) { return loaded = calloc(1, 100); }
