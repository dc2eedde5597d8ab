// The functions of the C library that the program would call if the engine did not define them.
#ifndef HL_BASE_NEXT_H
#define HL_BASE_NEXT_H

#include "base/platform.h"

// hl_real_function returns a function of the C library, or NULL. *cache is NULL or the result of an
// earlier call.
void *hl_real_function(void **cache, const char *name);

// hl_not_implemented sets errno to ENOSYS and returns -1.
int hl_not_implemented(void);

int *__errno_location(void);

#endif
