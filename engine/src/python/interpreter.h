// The CPython interpreter of the process.
#ifndef HL_PYTHON_INTERPRETER_H
#define HL_PYTHON_INTERPRETER_H

#include "language/chain.h"
#include "python/layout.h"

// struct hl_allocator is CPython's PyMemAllocatorEx.
struct hl_allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t n, size_t size);
    void *(*realloc)(void *context, void *p, size_t size);
    void (*free)(void *context, void *p);
};

enum hl_domain { HL_DOMAIN_MEM = 1, HL_DOMAIN_OBJ = 2 }; // CPython's PyMemAllocatorDomain

struct hl_interpreter {
    uintptr_t dynamic;      // the dynamic section of its module
    struct hl_range object; // addresses of its module, the program or libpython
    struct hl_layout layout;
    uintptr_t loop, loop_size;   // _PyEval_EvalFrameDefault
    const uintptr_t *finalizing; // is not 0 while the interpreter is being finalized
    uintptr_t code_type, string_type;
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    uintptr_t (*current_thread)(void); // the thread that runs; before 3.12 it may be another one
    uintptr_t (*own_thread)(void);     // the first one of this thread
    int (*line_of)(uintptr_t code, int offset);
    int (*ensure)(void); // takes the interpreter's lock in any thread; NULL if it is missing
    void (*release)(int state);
    void (*get_allocator)(enum hl_domain, struct hl_allocator *);
    void (*set_allocator)(enum hl_domain, const struct hl_allocator *);
};

// hl_interpreter returns the interpreter if there is one whose structures are known, and if it
// runs: it is initialized, and not being finalized. hl_interpreter_done must be called then; the
// interpreter is not unloaded before. Else it returns NULL.
const struct hl_interpreter *hl_interpreter(void);
void hl_interpreter_done(void);

// hl_interpreter_search looks for an interpreter if none is known and the list of modules has
// changed since the last call. *found is set if there is a new one. If there is none, it returns
// the number of calls to leave out: the list is long in large programs, so that it is looked at
// less and less often until it changes.
uint32_t hl_interpreter_search(bool *found);

// hl_interpreter_refuse makes hl_interpreter return NULL from now on, and reports why, such as "has
// an unknown version".
void hl_interpreter_refuse(const char *reason);

// hl_interpreter_thread returns the thread state of the calling thread, or 0. *attached is set if
// the thread holds the interpreter's lock, so that it may use objects.
uintptr_t hl_interpreter_thread(const struct hl_interpreter *py, struct hl_window *w,
                                bool *attached);

#endif
