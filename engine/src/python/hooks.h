// Recording the objects of CPython's own allocator.
#ifndef HL_PYTHON_HOOKS_H
#define HL_PYTHON_HOOKS_H

#include "python/interpreter.h"

// hl_hooks_install puts functions of the engine before those of CPython's allocator. It does
// nothing if they are there already. The calling thread must hold the interpreter's lock.
void hl_hooks_install(const struct hl_interpreter *py);

// hl_hooks_remove removes these functions. It returns false if another tool has put its own before
// them: they stay then. The calling thread must hold the interpreter's lock.
bool hl_hooks_remove(const struct hl_interpreter *py);

// hl_hooks_reset is called when the interpreter is another one than before.
void hl_hooks_reset(void);

#endif
