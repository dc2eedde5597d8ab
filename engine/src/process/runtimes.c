#include "process/runtimes.h"

#include "python/python.h"

const struct hl_runtime *const hl_all_runtimes[] = {&hl_python, NULL};
