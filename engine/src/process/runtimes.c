#include "process/runtimes.h"

#include "language/language.h"
#include "python/python.h"

// Python comes first: its activations are found by the addresses of C frames.
const struct hl_runtime *const hl_all_runtimes[] = {&hl_python, &hl_languages, NULL};
