// Stacks, and the interface between the recorder of allocations and the unwinder.
#ifndef HL_STACK_H
#define HL_STACK_H

#include "base/memory.h"

enum {
    HL_MAX_FRAMES = 512,
    // If a stack has more frames, the innermost ones and so many outermost ones are kept. Stacks
    // that differ only in the depth of a recursion are thereby equal.
    HL_OUTER_FRAMES = 128,
};

// struct hl_stack is a call path. It is large: do not put one on the program's stack.
struct hl_stack {
    uint32_t n;
    uint32_t mark;                // pc[mark] stands for frames that are left out; 0: none are
    bool truncated;               // the outermost frames are missing
    bool taken;                   // a thread uses this buffer
    uintptr_t pc[HL_MAX_FRAMES];  // return addresses, leaf first; without the engine's own frames
    uintptr_t cfa[HL_MAX_FRAMES]; // frame i ends at cfa[i], the stack pointer before its call
    uintptr_t base;               // frame 0 begins here; frame i at cfa[i-1]
    uintptr_t scratch[HL_MAX_FRAMES];
    struct hl_piece pieces[2]; // of stacks other than the thread's own, and of tables
} __attribute__((aligned(64)));

// hl_unwind stores the call path of the calling thread. frame is the frame address of an engine's
// function that the program called, directly or not. It waits for no lock and does not allocate. It
// is called with all signals blocked.
void hl_unwind(struct hl_stack *s, const void *frame);

// hl_unwind_init is called once, when the engine starts.
void hl_unwind_init(void);

// hl_unwind_forget drops what is known of loaded code.
void hl_unwind_forget(void);

// hl_unwind_unloading is called before dlclose, and hl_unwind_unloaded behind it.
void hl_unwind_unloading(void);
void hl_unwind_unloaded(void);

// hl_unwind_release gives memory of the program's unwind tables back to the kernel. It opens a
// file: the thread that writes snapshots calls it. All signals must be blocked.
void hl_unwind_release(void);

// hl_unwind_forked is called in a forked child.
void hl_unwind_forked(void);

// hl_python_merge replaces each activation of the interpreter's loop by the Python frames that it
// runs. It does nothing if there is no interpreter. Called as hl_unwind, behind it.
void hl_python_merge(struct hl_stack *s);

// hl_python_poll finds an interpreter that was loaded since the last call, and installs the hooks
// of its allocators as soon as that is allowed. It returns the number of samples that the thread
// may take before the next call. It is called before a sample is taken, without locks and with
// signals unblocked.
uint32_t hl_python_poll(void);

// hl_python_install installs the hooks of the interpreter's allocators now, in a thread that waits
// for the interpreter's lock. hl_python_remove removes them. It returns false if another tool has
// put its own before them: they stay, and record nothing if the engine does not.
void hl_python_install(void);
bool hl_python_remove(void);
bool hl_python_is_hooked(void);

// hl_python_unloading is called before dlclose, and hl_python_unloaded behind it: the interpreter
// may be what is unloaded.
void hl_python_unloading(void);
void hl_python_unloaded(void);

// hl_python_finalizing reports whether this thread finalizes the interpreter. Other threads may
// still free memory then, and must not be delayed: the interpreter does not wait for them.
bool hl_python_finalizing(void);

// hl_python_counts_threads reports whether the interpreter compares the number of threads in
// /proc/self/stat with 1 when the program forks (CPython from 3.12 on).
bool hl_python_counts_threads(void);

// Synthetic frames have addresses from here on, which no process maps. In files, HL_NAMED_IMAGE
// times the number of the process image is added, so that an address has one meaning only.
#define HL_NAMED UINT64_C(0x0100000000000000)
#define HL_NAMED_IMAGE (UINT64_C(1) << 40)

// hl_name returns the address of a synthetic frame. The same function, file and line have the same
// address. It returns 0 if there is no memory for it. It takes no lock.
uintptr_t hl_name(const char *function, size_t function_length, const char *file,
                  size_t file_length, uint32_t line);

// hl_names_write sends the frames that were named since the last call. It returns false if that is
// not possible; the next call sends them then. pid and image are put into the first line. Only one
// thread calls it at a time.
bool hl_names_write(uint64_t pid, uint64_t image, int64_t start_ns);

// hl_names_forked is called in a forked child, which writes all names again into a file of its own.
void hl_names_forked(void);

#endif
