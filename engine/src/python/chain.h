// The Python frames of a thread.
//
// The interpreter's loop, a C function, runs Python functions. One activation of the loop runs one
// frame up to 3.10, and from 3.11 on also the frames that it calls in Python.
#ifndef HL_PYTHON_CHAIN_H
#define HL_PYTHON_CHAIN_H

#include "python/code.h"

// struct hl_chain walks from the innermost frame to the outermost.
struct hl_chain {
    const struct hl_interpreter *py;
    struct hl_window window;
    uintptr_t frame;      // 0: there are no more
    uintptr_t activation; // the record of its activation; 0 if the version has none
    int left;             // frames that may still be visited
};

// hl_chain_start goes to the innermost frame of a thread.
void hl_chain_start(struct hl_chain *c, const struct hl_interpreter *py, struct hl_window w,
                    uintptr_t thread);

// hl_chain_marker returns an address inside the C frame of the activation that runs the frame, or 0
// if the version has none.
uintptr_t hl_chain_marker(struct hl_chain *c);

// hl_chain_next returns the name of the frame, and goes to its caller. The address is 0 if the
// frame is not shown. *last is set behind the last frame of the activation.
struct hl_code_name hl_chain_next(struct hl_chain *c, bool *last);

#endif
