// Containers of blocks that the program does not clear: their memory has the addresses that earlier owners kept in it,
// such as the old arrays of the same containers. For each block that it looks for it prints the holder and the address:
// a variable.
#include <cstdio>
#include <map>
#include <thread>
#include <unistd.h>
#include <vector>

struct Connection {
    char buffer[3000]; // read() fills it later
};

struct Worker {
    std::vector<Connection *> connections;
};

std::vector<Connection *> g_idle;
std::map<int, Connection *> g_named;
thread_local std::vector<Connection *> t_cache;

static const int COUNT = 4000;

__attribute__((noinline)) static Connection *open_connection() { return new Connection; }

// grow adds a block. The arrays that the vector leaves are the memory of later blocks.
template <class V> __attribute__((noinline)) static void grow(V &v) { v.push_back(open_connection()); }

static void show(const char *holder, Connection *c) { printf("%s\t%p\n", holder, (void *)c); }

static void work(bool *done) {
    Worker worker;
    for (int i = 0; i < COUNT; i++) grow(worker.connections), grow(t_cache);
    for (int i = 0; i < COUNT; i++) show("worker.connections", worker.connections[i]), show("t_cache", t_cache[i]);
    *done = true;
    for (;;) pause();
}

int main() {
    std::vector<Connection *> active;
    volatile bool done = false;
    std::thread t(work, (bool *)&done);
    while (!done) usleep(1000);
    for (int i = 0; i < COUNT; i++) {
        grow(g_idle), grow(active);
        g_named[i] = open_connection();
    }
    for (int i = 0; i < COUNT; i++) {
        show("g_idle", g_idle[i]);
        show("active", active[i]);
        show("g_named", g_named[i]);
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
