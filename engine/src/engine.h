// What the core of the engine offers to the hooks of other allocators, such as CPython's.
#ifndef HL_ENGINE_H
#define HL_ENGINE_H

#include "base/platform.h"

// hl_record_alloc records that size bytes were allocated at p, if they are sampled. p may be NULL.
// The caller must not be between hl_enter and hl_leave.
void hl_record_alloc(void *p, size_t size);

// hl_record_free records that p is freed. It must be called before p is given back.
void hl_record_free(void *p);

// struct hl_freed is what hl_record_unfree needs to undo hl_record_free: for a realloc that failed.
struct hl_freed {
    bool was_live;
    uint32_t site;
    uint64_t size;
};
struct hl_freed hl_record_realloc(void *p); // as hl_record_free
void hl_record_unfree(void *p, const struct hl_freed *f);

// hl_enter starts a call of an allocator whose own allocations are not recorded in this thread,
// because its caller's are. It returns false if the thread is in such a call already; hl_leave must
// not be called then, and nothing must be recorded.
bool hl_enter(void);
void hl_leave(void);

// hl_problem counts a problem of a kind ("python-refused") and writes it to the events file with
// the next snapshot. kind must be a constant; detail may be NULL and is copied if it is the first
// of its kind.
void hl_problem(const char *kind, const char *detail);

// hl_problem_error is hl_problem for a system call that failed with an error.
void hl_problem_error(const char *kind, const char *detail, int error);

#endif
