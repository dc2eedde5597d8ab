// Blocks that were elements of containers which keep their memory, and are held by others now: for each block a line with
// the variable that holds it, and the address.
#include <cstdio>
#include <deque>
#include <list>
#include <memory>
#include <queue>
#include <stack>
#include <unistd.h>
#include <vector>

struct Job {
    long id;
    char body[2000];
};

struct Batch {
    std::vector<std::unique_ptr<std::vector<Job *>>> jobs;
};

std::deque<Job *> g_deque;
std::queue<Job *> g_queue;
std::stack<Job *> g_stack;
std::vector<Job *> g_vector;
std::priority_queue<Job *> g_heap;
std::list<std::unique_ptr<Batch>> g_done;

enum { some = 700, every = 10 }; // more than a part of a std::deque has

static void print(const char *holder, const Job *j) {
    if (j->id % every == 0) std::printf("%s\t%p\n", holder, static_cast<const void *>(j));
}

// Longer ways lead to what is done than to what is not.
static void done(Job *j) {
    auto batch = std::make_unique<Batch>();
    batch->jobs.push_back(std::make_unique<std::vector<Job *>>(1, j));
    g_done.push_back(std::move(batch));
    print("g_done", j);
}

template <typename C> static Job *first(C &c) {
    Job *j = c.front();
    if constexpr (requires { c.pop_front(); }) c.pop_front();
    else c.pop();
    return j;
}
template <typename C> static Job *last(C &c) {
    Job *j;
    if constexpr (requires { c.back(); }) j = c.back(), c.pop_back();
    else j = c.top(), c.pop();
    return j;
}

// Moves most of the jobs of a container, from its start or its end.
template <typename C, typename Take> static void move(const char *name, C &c, Take take, int left) {
    for (int i = 0; i < some; i++) {
        if constexpr (requires { c.push_back(nullptr); }) c.push_back(new Job{i, {}});
        else c.push(new Job{i, {}});
    }
    for (int i = left; i < some; i++) done(take(c));
    for (int i = 0; i < left; i++) { // to know them
        Job *j = take(c);
        print(name, j);
        if constexpr (requires { c.push_back(j); }) c.push_back(j);
        else c.push(j);
    }
}

int main() {
    move("g_deque", g_deque, first<std::deque<Job *>>, 201);
    move("g_queue", g_queue, first<std::queue<Job *>>, 0);
    move("g_stack", g_stack, last<std::stack<Job *>>, 0);
    move("g_vector", g_vector, last<std::vector<Job *>>, 1);
    move("g_heap", g_heap, last<std::priority_queue<Job *>>, 0);
    std::puts("ready");
    std::fflush(stdout);
    for (;;) pause();
}
