#include "heap/thread.h"

#include "base/entry.h"
#include "base/problems.h"

struct hl_thread hl_threads[HL_THREADS];

// shared is used by threads for which there is no room.
static struct hl_thread shared = {.left = HL_INSIDE / 4, .random = 1};

enum { PROBES = 32 };

static bool is_dead(const struct hl_thread *t) {
    if (t->id == 0) return false;
    return hl_syscall3(HL_SYS_tgkill, hl_syscall0(HL_SYS_getpid), t->id, 0) == -HL_ESRCH;
}

static bool claim(struct hl_thread *t, uintptr_t before, uintptr_t pointer) {
    if (!__atomic_compare_exchange_n(&t->pointer, &before, pointer, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    t->left = 0;
    t->random = 0;
    t->id = 0; // the first sample tells it
    return true;
}

// find returns the entry of the thread, or one that it claims, or NULL: a free one, or, if
// take_over is set, that of a thread that has ended. The number in the entry is that of a thread
// that used it once. If a newer thread uses the entry now, it only loses its position.
static struct hl_thread *find(uintptr_t pointer, bool take_over) {
    struct hl_thread *home = hl_thread_home(pointer);
    for (size_t i = 0; i < PROBES; i++) {
        struct hl_thread *t = &hl_threads[((size_t)(home - hl_threads) + i) % HL_THREADS];
        uintptr_t used_by = __atomic_load_n(&t->pointer, __ATOMIC_RELAXED);
        if (used_by == pointer) return t;
        if ((take_over ? is_dead(t) : used_by == 0) && claim(t, used_by, pointer)) return t;
    }
    return NULL;
}

// hl_thread_find makes system calls only while the engine records.
HL_COLD struct hl_thread *hl_thread_find(uintptr_t pointer) {
    struct hl_thread *t = find(pointer, false);
    if (!t && hl_is_recording()) t = find(pointer, true);
    if (t) return t;
    if (hl_is_recording())
        hl_problem("threads-dropped", "too many threads: the allocations of some are not recorded");
    shared.left = HL_INSIDE / 4;
    return &shared;
}

void hl_threads_restart(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (size_t i = 0; i < HL_THREADS; i++) {
        struct hl_thread *t = &hl_threads[i];
        if (!t->pointer) continue;
        t->random = 0;
        t->left = 0;
    }
}
