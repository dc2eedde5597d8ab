#include "language/language.h"

#include "base/config.h"
#include "base/problems.h"

static const struct hl_language *const all[] = {&hl_perl, &hl_php, &hl_ruby};
enum { LANGUAGES = sizeof all / sizeof(void *) };

enum state { NONE, FOUND, REFUSED };

// struct found is the interpreter of a language.
struct found {
    enum state state;
    uint32_t valid, invalid; // frames
    uintptr_t dynamic;       // the dynamic section of its module
    struct hl_range object, loops[HL_LOOPS], released[HL_RELEASED];
};
static struct found found[LANGUAGES];

static uint32_t busy;      // the number of the process of which a thread searches, or 0
static uintptr_t searched; // the list of modules that were searched

// enter reports whether no other thread searches. A fork copies busy from a thread that does.
static bool enter(void) {
    uint32_t before = __atomic_load_n(&busy, __ATOMIC_RELAXED), own = (uint32_t)hl_process.pid;
    return before != own && __atomic_compare_exchange_n(&busy, &before, own, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static void leave(void) { __atomic_store_n(&busy, 0, __ATOMIC_RELEASE); }

static enum state state_of(int i) { return __atomic_load_n(&found[i].state, __ATOMIC_ACQUIRE); }

// --- the search ---

static void refuse(int i, const char *reason) {
    char text[200];
    struct hl_text t = hl_text(text, sizeof text);
    hl_format(&t, "%s frames are not recorded: %s", all[i]->title, reason);
    hl_put_end(&t);
    __atomic_store_n(&found[i].state, REFUSED, __ATOMIC_RELEASE);
    hl_problem("language-refused", text);
}

static struct hl_range function(struct hl_window *w, const struct hl_module *m, const char *name) {
    size_t size = 0;
    uintptr_t start = name != NULL ? hl_module_symbol(w, m, name, &size) : 0;
    return (struct hl_range){start, start + size};
}

// take examines a module, and makes it the interpreter of language i if it has one.
static void take(struct hl_window *w, const struct hl_module *m, bool is_program, int i) {
    char text[100];
    struct hl_text reason = hl_text(text, sizeof text);
    struct hl_extent extent;
    struct found *f = &found[i];
    if (hl_module_symbol(w, m, all[i]->symbol, NULL) == 0) return;
    for (int k = 0; k < HL_LOOPS; k++) f->loops[k] = function(w, m, all[i]->loops[k]);
    for (int k = 0; k < HL_RELEASED; k++) f->released[k] = function(w, m, all[i]->released[k]);
    bool is_known = all[i]->examine(w, m, &reason);
    hl_put_end(&reason);
    if (!is_known) return refuse(i, text);
    if (f->loops[0].start == f->loops[0].end || !hl_module_extent(w, m, is_program, &extent))
        return refuse(i, "the interpreter does not export its loop");
    f->object = (struct hl_range){extent.start, extent.end};
    f->dynamic = m->dynamic;
    f->valid = f->invalid = 0;
    __atomic_store_n(&f->state, FOUND, __ATOMIC_RELEASE);
}

static void search_module(struct hl_window *w, const struct hl_module *m, bool is_program) {
    for (int i = 0; i < LANGUAGES; i++)
        if (state_of(i) == NONE) take(w, m, is_program, i);
}

enum { SHORTEST = 32, MOST_MODULES = 4096 };

// search looks for interpreters if the list of modules has changed, and returns the number of calls
// to leave out: the list is long in large programs.
static uint32_t search(void) {
    enum { LONGEST = 256 };
    static uint32_t pause;
    struct hl_window w = {.unstable = true};
    uintptr_t list = hl_module_list(), at = 0;
    struct hl_module m;
    if (list == searched) return pause = pause < LONGEST ? pause * 2 : LONGEST;
    for (int n = 0; n < MOST_MODULES && hl_module_next(&w, &at, &m); n++)
        search_module(&w, &m, n == 0);
    searched = list;
    return pause = SHORTEST;
}

// poll looks at the list of modules now and then, whatever other runtimes need.
static uint32_t poll(void) {
    enum { SELDOM = 256, INTERVAL = 50 * 1000 * 1000 };
    static int64_t last;
    if (!hl_config.python) return SELDOM;
    int64_t now = hl_clock(HL_MONOTONIC_COARSE), before = __atomic_load_n(&last, __ATOMIC_RELAXED);
    if ((before != 0 && now - before < INTERVAL) || !enter()) return SELDOM;
    __atomic_store_n(&last, now, __ATOMIC_RELAXED);
    uint32_t pause = search();
    leave();
    return pause;
}

// unloaded forgets the interpreters that are not loaded any more. No function of theirs is called,
// so that a thread may still be reading meanwhile: it gets nothing, or frames that were right.
static void unloaded(void) {
    struct hl_window w = {.unstable = true};
    struct hl_module m;
    for (int i = 0; i < LANGUAGES; i++) {
        uintptr_t at = 0;
        bool is_loaded = false;
        if (state_of(i) != FOUND) continue;
        for (int n = 0; n < MOST_MODULES && !is_loaded && hl_module_next(&w, &at, &m); n++)
            is_loaded = m.dynamic == found[i].dynamic;
        if (!is_loaded) __atomic_store_n(&found[i].state, NONE, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&searched, 0, __ATOMIC_RELAXED);
}

// --- frames ---

static bool runs_loop(const struct hl_stack *s, const struct hl_chain *c) {
    for (uint32_t i = 0; i < s->n; i++)
        if (hl_chain_in_loop(c, s->pc[i])) return true;
    return false;
}

// is_released reports whether the thread runs without the interpreter's lock: another one may free
// what is read.
static bool is_released(const struct hl_stack *s, const struct found *f) {
    for (uint32_t i = 0; i < s->n; i++)
        for (int k = 0; k < HL_RELEASED; k++)
            if (hl_in_range(&f->released[k], s->pc[i] - 1)) return true;
    return false;
}

static void merge_language(struct hl_stack *s, int i) {
    const struct found *f = &found[i];
    struct hl_chain c = {.walk = &all[i]->walk,
                         .interpreter = f,
                         .object = f->object,
                         .window = {.trusting = true},
                         .left = HL_CHAIN_FRAMES};
    memcpy(c.loops, f->loops, sizeof c.loops);
    if (!runs_loop(s, &c)) return;
    hl_memory_forget(); // the interpreter may have freed what the last sample read
    if (is_released(s, f)) c.window = (struct hl_window){.unstable = true};
    if (all[i]->begin(&c) && c.frame != 0) hl_chain_merge(s, &c);
}

static void merge(struct hl_stack *s) {
    for (int i = 0; i < LANGUAGES; i++)
        if (state_of(i) == FOUND) merge_language(s, i);
}

const struct hl_runtime hl_languages = {.poll = poll, .merge = merge, .unloaded = unloaded};

static int index_of(const struct hl_chain *c) {
    return (int)((const struct found *)c->interpreter - found);
}

void hl_language_refuse(const struct hl_chain *c, const char *reason) {
    refuse(index_of(c), reason);
}

static void count(const struct hl_chain *c, bool is_valid) {
    enum { ENOUGH = 16 };
    int i = index_of(c);
    uint32_t *n = is_valid ? &found[i].valid : &found[i].invalid;
    if (__atomic_load_n(&found[i].valid, __ATOMIC_RELAXED) >= ENOUGH) return;
    if (__atomic_add_fetch(n, 1, __ATOMIC_RELAXED) == ENOUGH && !is_valid)
        refuse(i, "its frames have an unknown layout");
}

struct hl_line
hl_language_line(struct hl_chain *c, const struct hl_key *key, const char *name, uint32_t line,
                 bool (*read)(struct hl_chain *c, const struct hl_key *key, struct hl_texts *t)) {
    struct hl_line found_line = {0, HL_ROLE_NONE};
    struct hl_texts t = {0, 0, "", ""};
    if (hl_known(key, &found_line)) return found_line;
    bool is_valid = read(c, key, &t) && t.function_length > 0 && t.file_length > 0;
    count(c, is_valid);
    if (!is_valid) return found_line;
    found_line.address = hl_texts_address(&t, name, line);
    if (found_line.address != 0) hl_know(key, &found_line);
    return found_line;
}

size_t hl_language_text(struct hl_window *w, char *to, size_t size, uintptr_t from, size_t n) {
    enum { PART = 32 };
    if (n > size) n = size;
    for (size_t done = 0; done < n;) {
        size_t part = PART - (from + done) % PART; // does not cross a page
        if (part > n - done) part = n - done;
        if (!hl_copy(w, to + done, from + done, part)) return done;
        for (size_t end = done + part; done < end; done++)
            if (to[done] == 0) return done;
    }
    return n;
}

void *pthread_getspecific(unsigned key) __attribute__((weak));

uintptr_t hl_language_thread_value(unsigned key) {
    return pthread_getspecific ? (uintptr_t)pthread_getspecific(key) : 0;
}
