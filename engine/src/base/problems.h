// What went wrong with the recording. Problems are counted by kind, and written to the events file
// with the next snapshot.
#ifndef HL_BASE_PROBLEMS_H
#define HL_BASE_PROBLEMS_H

#include "base/platform.h"

// hl_problem counts a problem of a kind ("python-refused"). kind must be a constant; detail may be
// NULL and is copied if it is the first of its kind.
void hl_problem(const char *kind, const char *detail);

// hl_problem_error is hl_problem for a system call that failed with an error.
void hl_problem_error(const char *kind, const char *detail, int error);

struct hl_problem {
    const char *kind;
    char detail[200];
    int error; // an errno, or 0
    uint64_t count;
    uint64_t visited; // the count at the last visit
    uint64_t done;
};

// hl_problems_visit visits each kind that was counted since hl_problems_done, which remembers that
// what was visited is in the file. One thread at a time calls these two.
void hl_problems_visit(void (*visit)(const struct hl_problem *p, void *context), void *context);
void hl_problems_done(void);
bool hl_problems_any(void);

// hl_problems_forked forgets all, in a forked child.
void hl_problems_forked(void);

#endif
