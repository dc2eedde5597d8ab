// A library that is loaded and unloaded while it is on the call paths of allocations.
#include <stdlib.h>
void *allocate(size_t size) { return malloc(size); }
