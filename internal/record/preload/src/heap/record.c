#include "heap/record.h"

#include "heap/operators.h"
#include "heap/regions.h"
#include "heap/sites.h"
#include "output/trigger.h"
#include "process/fork.h"

bool hl_recording;
uint64_t hl_period = 128 << 10;
struct hl_lock hl_heap_lock;

static void remove_sums(const struct hl_live *l) {
    uint64_t weight = hl_weight(hl_effective_size(l->size), hl_period);
    hl_sums_freed(l->site, (int64_t)weight, (int64_t)hl_weighted_bytes(l->size, weight));
}

// A free of a sample only notes the address, without a lock and without blocking signals. Whoever
// takes the lock next removes the samples: thus before the address can be sampled again. If there
// is no place for the note, the free takes the lock itself.
enum { NOTES = 32 };
static uintptr_t notes[NOTES];
static uint32_t noted; // is not 0 if there may be notes

static bool note_free(const void *p) {
    enum { PROBES = 4 };
    size_t i = ((uintptr_t)p >> 4) ^ ((uintptr_t)p >> 12);
    for (size_t k = 0; k < PROBES; k++) {
        uintptr_t none = 0;
        if (!__atomic_compare_exchange_n(&notes[(i + k) % NOTES], &none, (uintptr_t)p, false,
                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&noted, 1, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

static void remove_sample(const void *p) {
    struct hl_live l;
    if (hl_live_remove(p, &l)) remove_sums(&l);
}

static void remove_noted(void) {
    if (__atomic_load_n(&noted, __ATOMIC_ACQUIRE) == 0) return;
    __atomic_store_n(&noted, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < NOTES; i++) {
        if (__atomic_load_n(&notes[i], __ATOMIC_RELAXED) == 0) continue;
        remove_sample((const void *)__atomic_exchange_n(&notes[i], 0, __ATOMIC_ACQUIRE));
    }
}

static void lock_heap(void) {
    hl_lock(&hl_heap_lock);
    remove_noted();
}

uint64_t hl_heap_enter(void) {
    uint64_t signals = hl_enter_slow_path();
    lock_heap();
    return signals;
}

void hl_heap_leave(uint64_t signals) {
    hl_unlock(&hl_heap_lock);
    hl_signals_restore(signals);
}

// The buffers for call paths are too large for the stacks of some threads and signal handlers. The
// bits of taken are the buffers in use. A thread holds one for some microseconds.
enum { BUFFERS = 32 };
static struct hl_stack buffers[BUFFERS];
static uint32_t taken;

struct hl_stack *hl_stack_take(void) {
    for (;;) {
        uint32_t used = __atomic_load_n(&taken, __ATOMIC_RELAXED);
        if (used == UINT32_MAX) {
            hl_syscall0(HL_SYS_sched_yield);
            continue;
        }
        uint32_t bit = ~used & (used + 1);
        if (__atomic_compare_exchange_n(&taken, &used, used | bit, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &buffers[__builtin_ctz(bit)];
    }
}

void hl_stack_return(struct hl_stack *s) {
    __atomic_fetch_and(&taken, ~(1u << (s - buffers)), __ATOMIC_RELEASE);
}

void hl_record_forked(void) {
    taken = 0;
    hl_thread_self()->random ^= (uint64_t)hl_syscall0(HL_SYS_getpid) << 32;
}

void hl_record_clear(void) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    lock_heap();
    hl_live_clear();
    hl_sites_clear();
    hl_regions_clear();
    hl_unlock(&hl_heap_lock);
    hl_unlock(&hl_regions_lock);
    hl_signals_restore(signals);
}

// add records a sample of the given call path.
static void add(const void *p, uint64_t size, const struct hl_stack *s) {
    struct hl_live stale;
    bool full, was_stale;
    uint64_t weight = hl_weight(hl_effective_size(size), hl_period);
    lock_heap();
    uint32_t site = hl_site_of(s, &full);
    bool added = hl_live_add(p, (struct hl_live){site, size}, &stale, &was_stale);
    if (was_stale) remove_sums(&stale);
    if (added) hl_sums_allocated(site, (int64_t)weight, (int64_t)hl_weighted_bytes(size, weight));
    hl_unlock(&hl_heap_lock);
    if (full) hl_problem("table-full", "no room for more call paths: they are recorded as one");
    if (!added) hl_problem("samples-dropped", "no memory for more samples");
}

// start_sequence seeds the generator of a thread and draws the position of its first sample.
static void start_sequence(struct hl_thread *t) {
    static uint64_t sequences;
    uint64_t number = __atomic_add_fetch(&sequences, 1, __ATOMIC_RELAXED);
    uint64_t seed = (uint64_t)hl_clock(HL_MONOTONIC) ^ (t->pointer << 16) ^ (number << 52) ^
                    (uint64_t)hl_syscall0(HL_SYS_getpid) << 40;
    t->random = seed ? seed : 1;
    hl_draw(&t->random, 2);
    t->left += hl_draw(&t->random, hl_period);
}

// sample records the allocation. All signals are blocked.
static HL_NOINLINE void sample(void *p, size_t size, struct hl_thread *t) {
    if (t->random == 0) {
        start_sequence(t);
        if (t->left >= 0) return;
    }
    struct hl_stack *s = hl_stack_take();
    hl_unwind(s, __builtin_frame_address(0));
    hl_python_merge(s);
    add(p, size, s);
    hl_stack_return(s);
    t->left = hl_draw(&t->random, hl_period);
    if (t->random % 64 == 0) t->id = (int32_t)hl_syscall0(HL_SYS_gettid);
}

// is_due reports whether a sample of the allocation should be taken.
static bool is_due(const void *p, size_t size, struct hl_thread *t) {
    if (!p) { // the allocation failed
        t->left += (int64_t)hl_effective_size(size);
        return false;
    }
    if (!__atomic_load_n(&hl_recording, __ATOMIC_RELAXED) || t->inside) {
        t->left = INT64_C(1) << 20;
        return false;
    }
    return true;
}

void *hl_note_slow(void *p, size_t size, struct hl_thread *t) {
    if (t->pointer != hl_thread_pointer()) {
        t = hl_thread_find(hl_thread_pointer());
        t->left -= (int64_t)hl_effective_size(size);
        if (t->left >= 0) return p;
    }
    if (!is_due(p, size, t)) return p;
    if (hl_enter()) {
        hl_python_poll();
        hl_operators_poll();
        hl_leave();
    }
    uint64_t signals = hl_enter_slow_path();
    sample(p, size, t);
    hl_trigger_check();
    hl_signals_restore(signals);
    return p;
}

void hl_record_alloc(void *p, size_t size) { hl_note(p, size); }

// --- frees ---

// is_sample reports whether p, which is about to be freed, is a live sample.
static bool is_sample(const void *p) {
    if (!hl_live_maybe(p) || !hl_live_has(p) || !hl_recording) return false;
    if (hl_python_finalizing()) hl_trigger_final();
    return true;
}

void hl_record_free(void *p) {
    if (!is_sample(p) || note_free(p)) return;
    uint64_t signals = hl_heap_enter();
    remove_sample(p);
    hl_heap_leave(signals);
}

struct hl_freed hl_record_realloc(void *p) {
    struct hl_freed f = {false, 0, 0};
    struct hl_live l;
    if (!is_sample(p)) return f;
    uint64_t signals = hl_heap_enter();
    f.was_live = hl_live_remove(p, &l);
    if (f.was_live) {
        remove_sums(&l);
        f.site = l.site;
        f.size = l.size;
    }
    hl_heap_leave(signals);
    return f;
}

void hl_record_unfree(void *p, const struct hl_freed *f) {
    if (!f->was_live) return;
    struct hl_live stale;
    bool was_stale;
    uint64_t weight = hl_weight(hl_effective_size(f->size), hl_period);
    uint64_t signals = hl_heap_enter();
    if (hl_live_add(p, (struct hl_live){f->site, f->size}, &stale, &was_stale))
        hl_sums_freed(f->site, -(int64_t)weight, -(int64_t)hl_weighted_bytes(f->size, weight));
    hl_heap_leave(signals);
}

bool hl_enter(void) {
    struct hl_thread *t = hl_thread_self();
    if (t->inside) return false;
    t->inside = 1;
    t->kept_left = t->left;
    t->left = INT64_MAX / 2;
    return true;
}

void hl_leave(void) {
    struct hl_thread *t = hl_thread_self();
    t->left = t->kept_left;
    t->inside = 0;
}
