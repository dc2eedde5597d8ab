#include "unwind/thread.h"

#include "unwind/published.h"

extern unsigned long getauxval(unsigned long type);
int pthread_key_create(unsigned *key, void (*destructor)(void *)) __attribute__((weak));
void *pthread_getspecific(unsigned key) __attribute__((weak));
int pthread_setspecific(unsigned key, const void *value) __attribute__((weak));

// A thread has a number of its own, which tells it from a later thread with the same thread
// pointer. It is thread-specific data, which a new thread does not have, because the number that
// the kernel gives a thread needs a system call each time. Values of higher keys than FEW_KEYS are
// in memory that glibc allocates.
enum { FEW_KEYS = 32 };
static unsigned key = FEW_KEYS;

static void make_key(void) {
    if (pthread_key_create && pthread_getspecific && pthread_setspecific && key == FEW_KEYS &&
        (pthread_key_create(&key, NULL) != 0 || key >= FEW_KEYS))
        key = FEW_KEYS + 1;
}

static uint64_t number_of_thread(void) {
    static uintptr_t last = UINT32_MAX; // the kernel's numbers are smaller
    if (key >= FEW_KEYS) return (uint64_t)hl_syscall0(HL_SYS_gettid);
    uintptr_t number = (uintptr_t)pthread_getspecific(key);
    if (hl_likely(number != 0)) return number;
    number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    if (pthread_setspecific(key, (const void *)number) == 0) return number;
    return (uint64_t)hl_syscall0(HL_SYS_gettid);
}

// The kernel is asked about the pages of a thread's stack only once. Of each thread the pages that
// were found readable are kept: as long as the thread lives, they stay. A later thread with the
// same thread pointer may have a smaller stack. gap is a page below them that was not readable:
// what lies below it is another stack, such as one of a coroutine, as long as the kernel has not
// extended the thread's own stack to it.
enum { KEPT_BITS = 8, WORDS = 5 };
static struct kept {
    uint32_t sequence;
    uint64_t words[WORDS]; // thread, its number, lo, hi, gap
} kept[1 << KEPT_BITS];

static struct kept *entry_of(uintptr_t thread) {
    return &kept[thread * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEPT_BITS)];
}

static struct hl_window load(struct kept *k, uintptr_t thread, uint64_t id, uintptr_t *gap) {
    uint64_t words[WORDS];
    *gap = 0;
    if (!hl_published_read(&k->sequence, k->words, words, WORDS) || words[0] != thread ||
        words[1] != id)
        return (struct hl_window){.lo = 0};
    *gap = words[4];
    return (struct hl_window){.lo = words[2], .hi = words[3]};
}

static void store(struct kept *k, uintptr_t thread, uint64_t id, const struct hl_window *w,
                  uintptr_t gap) {
    uint64_t words[WORDS] = {thread, id, w->lo, w->hi, gap};
    hl_published_write(&k->sequence, k->words, words, WORDS);
}

// main_top is an address near the top of the main thread's stack, where the kernel puts data.
static uintptr_t main_top;

void hl_thread_stack_init(void) {
    enum { AT_RANDOM = 25 };
    main_top = getauxval(AT_RANDOM);
    make_key();
}

// top returns an address that is certainly on the thread's stack, near its top. The C libraries put
// the descriptor of other threads there, which the thread pointer points to.
static uintptr_t top(uintptr_t sp, uintptr_t thread) {
    bool is_main = main_top > sp && (thread < sp || main_top < thread);
    return is_main ? main_top : thread;
}

struct hl_window hl_thread_stack(uintptr_t sp) {
    enum { MAX_SIZE = 64 << 20 };
    uintptr_t thread = hl_thread_pointer();
    uint64_t id = number_of_thread();
    struct kept *k = entry_of(thread);
    struct hl_window none = {.lo = 0}, w;
    uintptr_t gap;
    w = load(k, thread, id, &gap);
    if (sp >= w.lo && sp < w.hi) return w;
    if (gap != 0 && sp < gap && !hl_widen(&(struct hl_window){.lo = 0}, gap)) return none;
    uintptr_t up_to = w.lo > sp ? w.lo : top(sp, thread);
    if (up_to <= sp || up_to - sp > MAX_SIZE) return none;
    if (w.lo <= sp) w = none;
    // Downwards from the known part, or else from the top.
    for (uintptr_t page = (up_to - 1) & -(uintptr_t)HL_PAGE; page + HL_PAGE > sp; page -= HL_PAGE) {
        if (hl_widen(&w, page)) continue;
        store(k, thread, id, &w, page);
        return none;
    }
    store(k, thread, id, &w, 0);
    return w;
}
