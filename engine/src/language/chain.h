// The frames of a language that a thread runs. An interpreter's loop, a C function, runs the
// functions of a program. One activation of the loop runs one or more of them.
#ifndef HL_LANGUAGE_CHAIN_H
#define HL_LANGUAGE_CHAIN_H

#include "unwind/stack.h"

// enum hl_role is the part of a function in an import. An importer that is written in the language
// runs a module from one of its functions.
enum hl_role { HL_ROLE_NONE, HL_ROLE_IMPORTER, HL_ROLE_RUNS_MODULE };

// struct hl_line is the name of a frame.
struct hl_line {
    uint64_t address; // of the synthetic frame; 0: the frame is not shown
    uint64_t role;
};

struct hl_range {
    uintptr_t start, end;
};

static inline bool hl_in_range(const struct hl_range *r, uintptr_t address) {
    return address >= r->start && address < r->end;
}

struct hl_chain;

// struct hl_walk has the functions of a language that walk a chain.
struct hl_walk {
    // next returns the name of the frame, and goes to its caller. *last is set behind the last
    // frame of the activation.
    struct hl_line (*next)(struct hl_chain *c, bool *last);

    // marker returns an address inside the C frame of the activation that runs the frame, or 0.
    // Without it, activations are those C frames that run the loop. It may be NULL.
    uintptr_t (*marker)(const struct hl_chain *c);
};

enum { HL_LOOPS = 2, HL_CHAIN_STATE = 4, HL_CHAIN_FRAMES = 16384 };

// struct hl_chain walks from the innermost frame to the outermost. A copy walks by itself.
struct hl_chain {
    const struct hl_walk *walk;
    const void *interpreter;
    struct hl_range object;          // addresses of the interpreter's module
    struct hl_range loops[HL_LOOPS]; // functions that are loops; empty if there are fewer
    struct hl_window window;
    uintptr_t frame;                 // 0: there are no more
    uintptr_t activation;            // the record of its activation; 0 if there are none
    uintptr_t state[HL_CHAIN_STATE]; // of the language
    int left;                        // frames that may still be visited
};

// hl_chain_in_loop reports whether a return address is in a loop.
bool hl_chain_in_loop(const struct hl_chain *c, uintptr_t pc);

// hl_chain_merge replaces the C frames of a stack that are loops by the frames of a chain, which
// stands at the innermost frame of the thread.
void hl_chain_merge(struct hl_stack *s, const struct hl_chain *innermost);

#endif
