#include "base/problems.h"

#include "base/entry.h"
#include "base/text.h"

enum { KINDS = 24 };
static struct hl_problem problems[KINDS];
static struct hl_lock lock;

static struct hl_problem *problem_of(const char *kind) {
    for (size_t i = 0; i < KINDS; i++) {
        if (!problems[i].kind) problems[i].kind = kind;
        if (hl_equal(problems[i].kind, kind)) return &problems[i];
    }
    return &problems[KINDS - 1];
}

void hl_problem(const char *kind, const char *detail) { hl_problem_error(kind, detail, 0); }

void hl_problem_error(const char *kind, const char *detail, int error) {
    uint64_t signals = hl_enter_slow_path();
    hl_lock(&lock);
    struct hl_problem *p = problem_of(kind);
    p->error = error;
    if (p->count++ == 0 && detail) {
        struct hl_text t = hl_text(p->detail, sizeof p->detail);
        hl_put_string(&t, detail);
        hl_put_end(&t);
    }
    hl_unlock(&lock);
    hl_signals_restore(signals);
}

// next copies the next kind from number *i on that was counted since hl_problems_done.
static bool next(size_t *i, struct hl_problem *to) {
    bool found = false;
    hl_lock(&lock);
    for (; !found && *i < KINDS && problems[*i].kind; ++*i) {
        struct hl_problem *p = &problems[*i];
        if (p->count == p->done) continue;
        p->visited = p->count;
        *to = *p;
        found = true;
    }
    hl_unlock(&lock);
    return found;
}

// The lock is not held while a problem is visited, because sending it may take long.
void hl_problems_visit(void (*visit)(const struct hl_problem *p, void *context), void *context) {
    struct hl_problem p;
    for (size_t i = 0; next(&i, &p);) visit(&p, context);
}

void hl_problems_done(void) {
    hl_lock(&lock);
    for (size_t i = 0; i < KINDS; i++) problems[i].done = problems[i].visited;
    hl_unlock(&lock);
}

bool hl_problems_any(void) {
    for (size_t i = 0; i < KINDS && problems[i].kind; i++)
        if (problems[i].count != problems[i].done) return true;
    return false;
}

void hl_problems_forked(void) {
    lock.state = 0;
    memset(problems, 0, sizeof problems);
}
