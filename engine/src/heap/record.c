#include "heap/record.h"

#include "base/problems.h"
#include "base/quiet.h"
#include "heap/operators.h"
#include "heap/regions.h"
#include "heap/runtime.h"
#include "heap/sites.h"

static void nothing(void) {}
struct hl_observer hl_observer = {nothing, nothing};

uint64_t hl_period = 128 << 10;
struct hl_lock hl_heap_lock HL_LOCKED;

// remove_sums removes a sample from the sums, times being 1, or adds it again: -1.
static void remove_sums(const struct hl_live *l, int64_t times) {
    uint64_t weight = hl_weight(hl_effective_size(l->size), hl_period);
    int64_t bytes = (int64_t)hl_weighted_bytes(l->size, weight);
    hl_sums_freed(l->site, times * (int64_t)weight, times * bytes);
}

// A free of a sample only notes the address, without a lock and without blocking signals. The next
// sample of the thread removes what it has noted. Until then the address may be sampled again, so
// that a note has the number of the sample too. If there is no place for a note, the free takes the
// lock itself. Threads that have the same notes share them.
enum { NOTES = 7, SETS = 32, RESERVED = 1 };
static struct notes {
    uint32_t any; // is not 0 if there may be notes
    struct note {
        uintptr_t address; // 0 if the place is free, or RESERVED
        uint32_t number;
    } at[NOTES];
} __attribute__((aligned(64))) notes[SETS];

// thread_number returns a number of the calling thread, below 32, which few others have.
static size_t thread_number(void) {
    return (size_t)(hl_thread_home(hl_thread_pointer()) - hl_threads) % SETS;
}

static bool note_free(const void *p, uint32_t number) {
    struct notes *own = &notes[thread_number()];
    for (struct note *n = own->at; n < own->at + NOTES; n++) {
        uintptr_t none = 0;
        if (__atomic_load_n(&n->address, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&n->address, &none, RESERVED, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        n->number = number;
        __atomic_store_n(&n->address, (uintptr_t)p, __ATOMIC_RELEASE);
        __atomic_store_n(&own->any, 1, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

static void remove_sample(const void *p, uint32_t number) {
    struct hl_live l;
    if (hl_live_remove(p, number, &l)) remove_sums(&l, 1);
}

static void remove_noted(struct notes *set) {
    if (__atomic_load_n(&set->any, __ATOMIC_ACQUIRE) == 0) return;
    __atomic_exchange_n(&set->any, 0, __ATOMIC_SEQ_CST);
    for (struct note *n = set->at; n < set->at + NOTES; n++) {
        uintptr_t address = __atomic_load_n(&n->address, __ATOMIC_ACQUIRE);
        if (address <= RESERVED) continue;
        remove_sample((const void *)address, n->number);
        __atomic_store_n(&n->address, 0, __ATOMIC_RELEASE);
    }
}

static void lock_and_remove_noted(void) {
    hl_lock(&hl_heap_lock);
    for (size_t i = 0; i < SETS; i++) remove_noted(&notes[i]);
}

uint64_t hl_heap_enter(void) {
    uint64_t signals = hl_enter_slow_path();
    lock_and_remove_noted();
    return signals;
}

void hl_heap_leave(uint64_t signals) {
    hl_unlock(&hl_heap_lock);
    hl_signals_restore(signals);
}

static void count_again(uint32_t site, int64_t objects, int64_t bytes) {
    struct hl_sums *s = &hl_site(site)->sums;
    s->inuse_objects += objects;
    s->inuse_bytes += bytes;
}

static void count_live(const struct hl_live *l) {
    uint64_t weight = hl_weight(hl_effective_size(l->size), hl_period);
    count_again(l->site, (int64_t)weight, (int64_t)hl_weighted_bytes(l->size, weight));
}

bool hl_record_repair(void) {
    if (!hl_sites_repair() || !hl_live_repair(count_live)) return false;
    hl_regions_repair(count_again);
    hl_sites_sum();
    return true;
}

void hl_record_forked(void) {
    hl_stacks_forked();
    hl_thread_self()->random ^= (uint64_t)hl_syscall0(HL_SYS_getpid) << 32;
}

void hl_record_clear(void) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&hl_regions_lock);
    lock_and_remove_noted();
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
    hl_lock(&hl_heap_lock);
    remove_noted(&notes[thread_number()]);
    uint32_t site = hl_site_of(s, &full);
    struct hl_live sample = {size, site, hl_thread_self()->number};
    bool added = hl_live_add(p, sample, &stale, &was_stale);
    if (was_stale) remove_sums(&stale, 1);
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
    t->left = (uint64_t)hl_draw(&t->random, hl_period);
}

static void poll(struct hl_stack *s, void *context) {
    (void)s, (void)context;
    struct hl_thread *t = hl_thread_self();
    hl_operators_poll();
    if (t->unpolled > 0) {
        t->unpolled--;
    } else if (hl_enter()) {
        t->unpolled = hl_runtimes_poll();
        hl_leave();
    }
}

void hl_poll(void) { hl_stack_use(poll, NULL); }

void hl_record_stack(struct hl_stack *s) {
    hl_unwind(s);
    hl_runtimes_merge(s);
}

struct allocation {
    void *p;
    size_t size;
};

static void record(struct hl_stack *s, void *context) {
    const struct allocation *a = context;
    poll(s, NULL);
    hl_record_stack(s);
    add(a->p, a->size, s);
}

// sample records the allocation. No signal runs code meanwhile.
static HL_NOINLINE void sample(void *p, size_t size, struct hl_thread *t) {
    if (t->random == 0) {
        start_sequence(t);
        if (hl_count(t, size)) return;
    }
    struct allocation a = {p, size};
    if (!hl_stack_use(record, &a)) hl_problem("samples-dropped", "too many threads take samples");
    t->left = (uint64_t)hl_draw(&t->random, hl_period);
    if (t->random % 64 == 0 || t->id == 0) t->id = (int32_t)hl_syscall0(HL_SYS_gettid);
}

// is_due reports whether a sample of an allocation should be taken that was not counted.
static bool is_due(struct hl_thread *t) {
    if (hl_is_recording()) return true;
    // A recording that begins right now has either set left to 0 behind this, or is seen here.
    __atomic_store_n(&t->left, UINT64_C(1) << 20, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (hl_is_recording()) __atomic_store_n(&t->left, 0, __ATOMIC_RELAXED);
    return false;
}

void *hl_note_slow(void *p, size_t size, struct hl_thread *t) {
    if (!p) return p;
    if (t->pointer != hl_thread_pointer()) {
        t = hl_thread_find(hl_thread_pointer());
        if (hl_count(t, size)) return p;
    }
    if (!is_due(t)) return p;
    if (hl_quiet_begin()) {
        sample(p, size, t);
        hl_quiet_end();
    } else {
        uint64_t signals = hl_enter_slow_path();
        sample(p, size, t);
        hl_signals_restore(signals);
    }
    hl_observer.sampled();
    return p;
}

// --- frees ---

// is_sample reports whether p, which is about to be freed, is a live sample, and its number.
static bool is_sample(const void *p, uint32_t *number) {
    if (!hl_live_maybe(p) || !hl_live_has(p, number) || !hl_is_recording()) return false;
    if (hl_runtimes_finalizing()) hl_observer.finalizing();
    return true;
}

void hl_record_free(void *p) {
    uint32_t number;
    if (!is_sample(p, &number) || (number != HL_ANY && note_free(p, number))) return;
    uint64_t signals = hl_heap_enter();
    remove_sample(p, HL_ANY);
    hl_heap_leave(signals);
}

struct hl_live hl_record_realloc(void *p) {
    struct hl_live l = {0, 0, HL_ANY};
    uint32_t number;
    if (!is_sample(p, &number)) return l;
    uint64_t signals = hl_heap_enter();
    if (hl_live_remove(p, HL_ANY, &l)) remove_sums(&l, 1);
    hl_heap_leave(signals);
    return l;
}

void hl_record_unfree(void *p, const struct hl_live *l) {
    struct hl_live stale;
    bool was_stale;
    uint64_t signals = hl_heap_enter();
    if (hl_live_add(p, *l, &stale, &was_stale)) remove_sums(l, -1);
    hl_heap_leave(signals);
}

bool hl_enter(void) {
    struct hl_thread *t = hl_thread_self();
    if (hl_is_inside(t->left)) return false;
    t->kept_left = t->left;
    t->left = HL_INSIDE;
    return true;
}

void hl_leave(void) {
    struct hl_thread *t = hl_thread_self();
    t->left = t->kept_left;
}
