// Runtimes: interpreters that are loaded into the process, whose frames stand on the stack between
// those of C, and which may have allocators of their own. CPython is one.
#ifndef HL_HEAP_RUNTIME_H
#define HL_HEAP_RUNTIME_H

#include "unwind/stack.h"

// struct hl_runtime is what the engine asks of a runtime. poll and merge must be set; the others
// may be NULL.
struct hl_runtime {
    // poll finds an interpreter that was loaded since the last call, and installs the hooks of its
    // allocators as soon as that is allowed. It returns the number of samples that the thread may
    // take before the next call. It is called before a sample is taken, without locks.
    uint32_t (*poll)(void);

    // merge replaces what the interpreter's C frames run by the frames of the language. It does
    // nothing if there is no interpreter. Called behind hl_unwind.
    void (*merge)(struct hl_stack *s);

    // install installs the hooks of the interpreter's allocators now, in a thread that waits for
    // the interpreter's lock. remove removes them. It returns false if another tool has put its own
    // before them: they stay, and record nothing if the engine does not.
    void (*install)(void);
    bool (*remove)(void);
    bool (*is_hooked)(void);

    // unloading is called before dlclose, and unloaded behind it: the interpreter may be what is
    // unloaded.
    void (*unloading)(void);
    void (*unloaded)(void);

    // is_finalizing reports whether this thread finalizes the interpreter. Other threads may still
    // free memory then, and must not be delayed: the interpreter does not wait for them.
    bool (*is_finalizing)(void);

    // counts_threads reports whether the interpreter compares the number of threads of the process
    // with 1 when the program forks.
    bool (*counts_threads)(void);
};

// hl_runtimes_use sets the runtimes: an array that ends with NULL.
void hl_runtimes_use(const struct hl_runtime *const *all);

// These ask all runtimes.
uint32_t hl_runtimes_poll(void); // the smallest number
void hl_runtimes_merge(struct hl_stack *s);
void hl_runtimes_install(void);
bool hl_runtimes_remove(void);
bool hl_runtimes_are_hooked(void); // any
void hl_runtimes_unloading(void);
void hl_runtimes_unloaded(void);
bool hl_runtimes_finalizing(void);
bool hl_runtimes_count_threads(void);

#endif
