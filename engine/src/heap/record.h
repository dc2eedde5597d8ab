// The way of an allocation and of a free through the engine.
#ifndef HL_HEAP_RECORD_H
#define HL_HEAP_RECORD_H

#include "base/entry.h"
#include "heap/live.h"
#include "heap/sample.h"
#include "heap/thread.h"
#include "unwind/stack.h"

// hl_period is the mean number of bytes between samples.
extern HL_OWN uint64_t hl_period;

// hl_count counts the bytes of an allocation. It returns false if a sample is due, and has not
// counted them: then hl_note_slow is called. A size that no block can have is never counted.
static inline bool hl_count(struct hl_thread *t, size_t size) {
    uint64_t left = t->left, bytes = hl_effective_size(size);
    if (left < bytes) return false;
    t->left = left - bytes;
    return true;
}

// hl_note is called after each allocation, and returns p. p may be NULL. The slow ways return p
// too, so that the fast ones save no registers for their calls.
HL_COLD void *hl_note_slow(void *p, size_t size, struct hl_thread *t);
static inline void *hl_note(void *p, size_t size) {
    uintptr_t pointer = hl_thread_pointer();
    struct hl_thread *t = hl_thread_home(pointer);
    return hl_likely(t->pointer == pointer && hl_count(t, size)) ? p : hl_note_slow(p, size, t);
}

// hl_record_free records that p is freed. It must be called before p is given back.
void hl_record_free(void *p);

// hl_record_realloc does the same, and returns the sample that was removed. If there was none, its
// number is HL_ANY. hl_record_unfree adds it again: the realloc has failed.
struct hl_live hl_record_realloc(void *p);
void hl_record_unfree(void *p, const struct hl_live *l);

// hl_enter starts a call of an allocator whose own allocations are not recorded in this thread,
// because its caller's are. It returns false if the thread is in such a call already; hl_leave must
// not be called then, and nothing must be recorded.
bool hl_enter(void);
void hl_leave(void);

// hl_forget is called before each free.
static inline void hl_forget(void *p) {
    if (hl_unlikely(hl_live_maybe(p))) hl_record_free(p);
}

// hl_interpose_init is called once, before recording begins.
void hl_interpose_init(void);

// hl_record_stack reads the call path of the caller of hl_stack_use.
void hl_record_stack(struct hl_stack *s);

// hl_poll installs hooks in what the program has loaded or started since the last calls, such as an
// interpreter. It is called now and then, with all signals blocked and without locks.
void hl_poll(void);

// struct hl_observer is told of what happens to the heap. sampled is called after each sample and
// each mapping that is recorded, without locks. finalizing is called when an interpreter begins to
// free everything.
struct hl_observer {
    void (*sampled)(void);
    void (*finalizing)(void);
};
extern struct hl_observer hl_observer;

// hl_heap_lock protects the sites and the live samples. hl_heap_enter blocks all signals, takes it
// and removes the samples that were freed. hl_heap_leave gives it back and restores the signals.
extern struct hl_lock hl_heap_lock;
uint64_t hl_heap_enter(void);
void hl_heap_leave(uint64_t signals);

// hl_record_clear forgets everything that was recorded. The writer must have been stopped.
void hl_record_clear(void);

// hl_record_repair makes the tables whole again in a forked child, if another thread of its parent
// was changing them when it forked. At most what that thread was about to record is wrong. It
// returns false if there is no memory for that.
bool hl_record_repair(void);

// hl_record_forked makes the calling thread draw another position in a forked child than in its
// parent.
void hl_record_forked(void);

#endif
