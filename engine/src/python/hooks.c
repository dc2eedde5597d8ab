// CPython takes memory for objects from an allocator of its own, by functions that a program may
// replace (PyMem_SetAllocator). The engine's functions record what is allocated and call those that
// were there before.
//
// Other tools do the same, such as tracemalloc: they put their functions before the engine's, and
// take them away again. The engine then sees a function that is not its own, and cannot know
// whether its own ones are still called by that. It puts another level of functions before it. Of a
// call that reaches two levels, only the first one records.
//
// Threads of other interpreters may be allocating while the functions are replaced, one by one.
// Therefore the context stays the same, and a level knows its functions by itself.
#include "python/hooks.h"

#include "base/problems.h"
#include "heap/old.h"
#include "heap/record.h"
#include "python/python.h"

enum { DOMAINS = 2, LEVELS = 4 };

static struct hl_allocator before[LEVELS][DOMAINS]; // the functions that a level calls

// These functions are called for each object, so that hl_enter, hl_leave and hl_note are spelled
// out: the state of the thread is looked up once. leave also counts the allocation.

static inline uint64_t enter(struct hl_thread *t) {
    uint64_t left = t->left;
    t->left = HL_INSIDE;
    return left;
}

static inline void *leave(struct hl_thread *t, uint64_t left, void *p, size_t size) {
    t->left = left;
    return hl_likely(hl_count(t, size)) ? p : hl_note_slow(p, size, t);
}

static inline void *hooked_malloc(const struct hl_allocator *a, void *context, size_t size) {
    struct hl_thread *t = hl_thread_self();
    if (hl_unlikely(hl_is_inside(t->left))) return a->malloc(context, size);
    uint64_t left = enter(t);
    return leave(t, left, a->malloc(context, size), size);
}

static inline void *hooked_calloc(const struct hl_allocator *a, void *context, size_t n,
                                  size_t size) {
    struct hl_thread *t = hl_thread_self();
    if (hl_unlikely(hl_is_inside(t->left))) return a->calloc(context, n, size);
    uint64_t left = enter(t);
    return leave(t, left, a->calloc(context, n, size), n * size);
}

static inline void *hooked_realloc(const struct hl_allocator *a, void *context, void *p,
                                   size_t size) {
    struct hl_thread *t = hl_thread_self();
    if (hl_unlikely(hl_is_inside(t->left))) return a->realloc(context, p, size);
    struct hl_live freed = {0, 0, HL_ANY};
    if (p != NULL && hl_live_maybe(p)) freed = hl_record_realloc(p);
    uint64_t left = enter(t);
    void *q = a->realloc(context, p, size);
    if (q == NULL && freed.number != HL_ANY) hl_record_unfree(p, &freed);
    size_t old = hl_unlikely(size >= hl_old_least) ? hl_old_inner() : 0;
    if (hl_likely(old == 0 && freed.number == HL_ANY)) return leave(t, left, q, size);
    t->left = left;
    return hl_old_note(q, size, old, &freed);
}

// finalizing is not 0 when an interpreter is about to free everything. Whatever it does then, it
// frees objects before it clears the modules.
static const uintptr_t never;
static const uintptr_t *finalizing = &never;
static inline bool is_finalizing(void) {
    return __atomic_load_n(__atomic_load_n(&finalizing, __ATOMIC_RELAXED), __ATOMIC_RELAXED) != 0;
}
static HL_COLD void finalize(void) {
    if (!hl_python_is_finalizing()) return; // in another thread
    __atomic_store_n(&finalizing, &never, __ATOMIC_RELAXED);
    hl_observer.finalizing();
}

static inline void hooked_free(const struct hl_allocator *a, void *context, void *p) {
    if (hl_unlikely(is_finalizing())) finalize();
    if (hl_unlikely(hl_live_maybe(p))) hl_record_free(p);
    a->free(context, p);
}

#define FUNCTIONS(level, domain)                                                                   \
    static void *malloc_##level##_##domain(void *c, size_t n) {                                    \
        return hooked_malloc(&before[level][domain], c, n);                                        \
    }                                                                                              \
    static void *calloc_##level##_##domain(void *c, size_t n, size_t size) {                       \
        return hooked_calloc(&before[level][domain], c, n, size);                                  \
    }                                                                                              \
    static void *realloc_##level##_##domain(void *c, void *p, size_t n) {                          \
        return hooked_realloc(&before[level][domain], c, p, n);                                    \
    }                                                                                              \
    static void free_##level##_##domain(void *c, void *p) {                                        \
        hooked_free(&before[level][domain], c, p);                                                 \
    }
FUNCTIONS(0, 0)
FUNCTIONS(0, 1)
FUNCTIONS(1, 0)
FUNCTIONS(1, 1)
FUNCTIONS(2, 0)
FUNCTIONS(2, 1)
FUNCTIONS(3, 0)
FUNCTIONS(3, 1)

#define ALLOCATOR(level, domain)                                                                   \
    {NULL, malloc_##level##_##domain, calloc_##level##_##domain, realloc_##level##_##domain,       \
     free_##level##_##domain}
static const struct hl_allocator hooks[LEVELS][DOMAINS] = {
    {ALLOCATOR(0, 0), ALLOCATOR(0, 1)},
    {ALLOCATOR(1, 0), ALLOCATOR(1, 1)},
    {ALLOCATOR(2, 0), ALLOCATOR(2, 1)},
    {ALLOCATOR(3, 0), ALLOCATOR(3, 1)},
};

// install puts the next level before the current functions of a domain. *last is the level that was
// there when the engine last looked, or -1.
static const enum hl_domain domains[DOMAINS] = {HL_DOMAIN_MEM, HL_DOMAIN_OBJ};
static void install(const struct hl_interpreter *py, int d, int *last) {
    struct hl_allocator now;
    py->get_allocator(domains[d], &now);
    for (int level = 0; level < LEVELS; level++) {
        if (now.malloc != hooks[level][d].malloc) continue;
        *last = level;
        return;
    }
    // If the functions are those that the lowest level was put before, no level is there any more.
    if (*last >= 0 && now.malloc == before[0][d].malloc) *last = -1;
    if (*last == LEVELS - 1) {
        hl_problem("python-hooks",
                   "Another tool replaces the functions of CPython's allocator often; "
                   "Python objects are missing");
        return;
    }
    int level = ++*last;
    struct hl_allocator hook = hooks[level][d];
    hook.context = now.context;
    before[level][d] = now;
    py->set_allocator(domains[d], &hook);
}

static int highest[DOMAINS] = {-1, -1};

void hl_hooks_reset(void) {
    for (int d = 0; d < DOMAINS; d++) highest[d] = -1;
}

void hl_hooks_install(const struct hl_interpreter *py) {
    static bool busy; // interpreters with locks of their own may be here at the same time
    if (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) return;
    for (int d = 0; d < DOMAINS; d++) install(py, d, &highest[d]);
    __atomic_store_n(&finalizing, py->finalizing, __ATOMIC_RELAXED);
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

// remove_level takes the lowest level away, if no other tool has put its functions before it. It
// reports whether no function of the engine is left.
static bool remove_level(const struct hl_interpreter *py, int d, int *last) {
    struct hl_allocator now;
    if (*last < 0) return true;
    py->get_allocator(domains[d], &now);
    if (*last != 0 || now.malloc != hooks[0][d].malloc) return false;
    py->set_allocator(domains[d], &before[0][d]);
    *last = -1;
    return true;
}

bool hl_hooks_remove(const struct hl_interpreter *py) {
    bool removed = true;
    for (int d = 0; d < DOMAINS; d++) removed = remove_level(py, d, &highest[d]) && removed;
    return removed;
}
