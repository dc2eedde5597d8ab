// Python frames in a stack of C frames.
#include "base/config.h"
#include "python/chain.h"
#include "python/python.h"

// thread_on returns the state of the thread that has the stack, or 0. A thread may run another
// interpreter in a state that a different thread has made. Before 3.12, when CPython did not yet
// store the state in the thread, only the record of the activation tells: it is on the stack.
static uintptr_t thread_on(const struct hl_stack *s, const struct hl_interpreter *py,
                           struct hl_window *w) {
    struct hl_window unstable = {.unstable = true}; // the state may be that of a different thread
    int16_t offset = py->layout.thread.activation;
    uintptr_t activation;
    bool attached;
    uintptr_t own = hl_interpreter_thread(py, w, &attached);
    if (attached || offset == HL_ABSENT || s->n == 0) return own;
    uintptr_t current = py->current_thread();
    bool is_here = current != 0 && hl_load(&unstable, current + (uintptr_t)offset, &activation) &&
                   activation >= s->base && activation < s->cfa[s->n - 1];
    return is_here ? current : own;
}

// merge_thread merges the frames of the calling thread.
static void merge_thread(struct hl_stack *s, const struct hl_interpreter *py) {
    struct hl_window w = {.trusting = true};
    struct hl_chain chain;
    uintptr_t thread = thread_on(s, py, &w);
    if (thread == 0) return;
    hl_python_chain(&chain, py, w, thread);
    if (chain.frame != 0) hl_chain_merge(s, &chain);
}

void hl_python_merge(struct hl_stack *s) {
    const struct hl_interpreter *py = hl_config.python ? hl_interpreter() : NULL;
    if (py == NULL) return;
    merge_thread(s, py);
    hl_interpreter_done();
}
