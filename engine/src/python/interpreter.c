#include "python/interpreter.h"

#include "base/config.h"
#include "base/objects.h"
#include "base/problems.h"
#include "base/text.h"
#include "python/python.h"

extern uintptr_t pthread_self(void); // CPython's number of a thread

static struct hl_interpreter found;
static enum { NONE, FOUND, REFUSED } state;
static uintptr_t searched; // the list of modules that had no interpreter

enum { NO_MINOR = -1 };

// The interpreter may be a library that is unloaded. users is the number of threads that use it, or
// look for it; unloading is the number of calls of dlclose, which wait for them.
static uint32_t users, unloading;

// enter makes the thread a user until it calls hl_interpreter_done. It reports whether the
// libraries may be used: none is being unloaded by dlclose.
static bool enter(void) {
    __atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&unloading, __ATOMIC_SEQ_CST) == 0;
}

void hl_interpreter_done(void) { __atomic_fetch_sub(&users, 1, __ATOMIC_SEQ_CST); }

// --- the search ---

struct wanted {
    const char *name;
    void *to; // a pointer to a function, or a uintptr_t
    bool optional;
};

static bool find_symbols(struct hl_window *w, const struct hl_module *m, const struct wanted *names,
                         size_t n) {
    for (size_t i = 0; i < n; i++) {
        uintptr_t address = hl_module_symbol(w, m, names[i].name, NULL);
        if (address != 0) memcpy(names[i].to, &address, sizeof address);
        if (address == 0 && !names[i].optional) return false;
    }
    return true;
}

// minor_version returns the minor version of CPython 3, or NO_MINOR. It calls Py_GetVersion.
static int minor_version(uintptr_t function) {
    const char *(*version)(void);
    uint64_t minor;
    memcpy(&version, &function, sizeof function);
    const char *text = version();
    if (!hl_has_prefix(text, "3.")) return NO_MINOR;
    text += 2;
    return hl_parse_number(&text, &minor) && minor < 100 ? (int)minor : NO_MINOR;
}

// find_functions sets the fields of py. Some functions were renamed.
static bool find_functions(struct hl_window *w, const struct hl_module *m,
                           struct hl_interpreter *py) {
    const struct wanted names[] = {
        {"PyCode_Type", &py->code_type, false},
        {"PyUnicode_Type", &py->string_type, false},
        {"Py_IsInitialized", &py->is_initialized, false},
        {"_Py_IsFinalizing", &py->is_finalizing, true},
        {"Py_IsFinalizing", &py->is_finalizing, true},
        {"_PyThreadState_UncheckedGet", &py->current_thread, true},
        {"PyThreadState_GetUnchecked", &py->current_thread, true},
        {"PyGILState_GetThisThreadState", &py->own_thread, false},
        {"PyCode_Addr2Line", &py->line_of, false},
        {"PyGILState_Ensure", &py->ensure, true},
        {"PyGILState_Release", &py->release, true},
        {"PyMem_GetAllocator", &py->get_allocator, false},
        {"PyMem_SetAllocator", &py->set_allocator, false},
    };
    py->loop = hl_module_symbol(w, m, "_PyEval_EvalFrameDefault", &py->loop_size);
    return find_symbols(w, m, names, HL_LENGTH(names)) && py->is_finalizing != NULL &&
           py->current_thread != NULL;
}

static void refuse(int minor, const char *reason) {
    char text[200];
    struct hl_text t = hl_text(text, sizeof text);
    hl_put_string(&t, "Python frames are not recorded: CPython");
    if (minor != NO_MINOR) hl_format(&t, " 3.%u", (uint64_t)minor);
    hl_format(&t, " %s", reason);
    hl_put_end(&t);
    __atomic_store_n(&state, REFUSED, __ATOMIC_RELEASE);
    hl_problem("python-refused", text);
}

static void take(const struct hl_extent *e, const struct hl_module *m) {
    found.object.start = e->start;
    found.object.end = e->end;
    found.dynamic = m->dynamic;
    __atomic_store_n(&state, FOUND, __ATOMIC_RELEASE);
}

// examine takes the module as the interpreter if it has one. It reports whether it has.
static bool examine(struct hl_window *w, const struct hl_module *m, bool is_program) {
    enum { FIRST_WITH_RUNTIME = 7 };
    uint64_t table[100] = {0}; // the start of _PyRuntime
    const char *reason = NULL;
    struct hl_extent extent;
    uintptr_t version = hl_module_symbol(w, m, "Py_GetVersion", NULL);
    if (version == 0) return false;
    uintptr_t runtime = hl_module_symbol(w, m, "_PyRuntime", NULL);
    int minor = minor_version(version);
    if (runtime == 0 && minor >= FIRST_WITH_RUNTIME) return false;
    if (minor == NO_MINOR || (runtime != 0 && !hl_copy(w, table, runtime, sizeof table)))
        refuse(minor, "has an unknown version");
    else if (!hl_layout_of(minor, table, &found.layout, &reason))
        refuse(minor, reason);
    else if (!find_functions(w, m, &found))
        refuse(minor, "does not export its functions");
    else if (!hl_module_extent(w, m, is_program, &extent))
        refuse(minor, "has no program headers");
    else {
        found.finalizing = (const uintptr_t *)(runtime + (uintptr_t)found.layout.finalizing);
        take(&extent, m);
    }
    return true;
}

// search looks for an interpreter in the modules, and returns the number of calls to leave out.
// Other threads load and unload libraries meanwhile.
static uint32_t search(void) {
    enum { SHORTEST = 32, LONGEST = 256 };
    static uint32_t pause;
    struct hl_window w = {.unstable = true};
    uintptr_t list = hl_module_list(), at = 0;
    struct hl_module m;
    if (list == searched) return pause = pause < LONGEST ? pause * 2 : LONGEST;
    bool is_found = false;
    for (bool is_program = true; !is_found && hl_module_next(&w, &at, &m); is_program = false)
        is_found = examine(&w, &m, is_program);
    searched = list;
    return pause = SHORTEST;
}

uint32_t hl_interpreter_search(bool *is_new) {
    static uint32_t busy; // the number of the process: a fork copies it from a thread that searches
    uint32_t pause = 0, before = __atomic_load_n(&busy, __ATOMIC_RELAXED);
    uint32_t own = (uint32_t)hl_process.pid;
    *is_new = false;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != NONE || before == own) return 0;
    if (!__atomic_compare_exchange_n(&busy, &before, own, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return 0;
    if (enter()) pause = search();
    hl_interpreter_done();
    *is_new = __atomic_load_n(&state, __ATOMIC_ACQUIRE) == FOUND;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return *is_new ? 0 : pause;
}

void hl_interpreter_refuse(const char *reason) { refuse(found.layout.minor, reason); }

// --- the state of the interpreter ---

static bool begin(void) {
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != FOUND) return false;
    if (enter() && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == FOUND) return true;
    hl_interpreter_done();
    return false;
}

const struct hl_interpreter *hl_interpreter(void) {
    if (!begin()) return NULL;
    if (found.is_initialized() && !found.is_finalizing()) return &found;
    hl_interpreter_done();
    return NULL;
}

bool hl_python_is_finalizing(void) {
    if (!begin()) return false;
    struct hl_window w = {.lo = 0};
    bool attached = false;
    bool finalizing = found.is_finalizing() && hl_interpreter_thread(&found, &w, &attached) != 0;
    hl_interpreter_done();
    return finalizing && attached;
}

bool hl_python_counts_threads(void) {
    enum { FIRST_VERSION = 12 };
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == FOUND &&
           found.layout.minor >= FIRST_VERSION;
}

void hl_python_unloading(void) {
    // Users need microseconds. In a forked child some may have disappeared, and a signal handler
    // may unload a library while its own thread is a user: the number is not waited for for long.
    enum { PATIENCE = 1000 };
    __atomic_fetch_add(&unloading, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < PATIENCE && __atomic_load_n(&users, __ATOMIC_SEQ_CST) != 0; i++)
        hl_syscall0(HL_SYS_sched_yield);
}

void hl_python_unloaded(void) {
    struct hl_window w = {.unstable = true};
    struct hl_module m;
    uintptr_t at = 0;
    bool is_loaded = false;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == FOUND) {
        while (!is_loaded && hl_module_next(&w, &at, &m)) is_loaded = m.dynamic == found.dynamic;
        if (!is_loaded) __atomic_store_n(&state, NONE, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&searched, 0, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&unloading, 1, __ATOMIC_SEQ_CST);
}

// belongs reports whether a thread state was made by the calling thread.
static bool belongs(const struct hl_interpreter *py, struct hl_window *w, uintptr_t thread) {
    uintptr_t id;
    return thread != 0 && hl_load(w, thread + (uintptr_t)py->layout.thread.thread_id, &id) &&
           id == pthread_self();
}

uintptr_t hl_interpreter_thread(const struct hl_interpreter *py, struct hl_window *w,
                                bool *attached) {
    enum { STATE_IN_THREAD = 12 }; // the first version that has the current state of each thread
    uintptr_t thread = py->current_thread();
    *attached = py->layout.minor >= STATE_IN_THREAD ? thread != 0 : belongs(py, w, thread);
    if (*attached) return thread;
    thread = py->own_thread();
    return belongs(py, w, thread) ? thread : 0;
}
