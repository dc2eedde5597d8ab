// CPython as a runtime.
#ifndef HL_PYTHON_PYTHON_H
#define HL_PYTHON_PYTHON_H

#include "heap/runtime.h"

extern const struct hl_runtime hl_python;

// These are functions of hl_python in files of their own.
void hl_python_merge(struct hl_stack *s);
void hl_python_unloading(void);
void hl_python_unloaded(void);
bool hl_python_is_finalizing(void);
bool hl_python_counts_threads(void);

#endif
