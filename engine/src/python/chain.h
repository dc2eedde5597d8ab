// The Python frames of a thread. One activation of the interpreter's loop runs one frame up
// to 3.10, and from 3.11 on also the frames that it calls in Python.
#ifndef HL_PYTHON_CHAIN_H
#define HL_PYTHON_CHAIN_H

#include "python/code.h"

// hl_python_chain goes to the innermost frame of a thread.
void hl_python_chain(struct hl_chain *c, const struct hl_interpreter *py, struct hl_window w,
                     uintptr_t thread);

#endif
