// A library with thread-local variables, and, with PROGRAM defined, a program that loads it by dlopen: its two threads fill the
// variables. The program writes the name of the variable and the address for each block.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#ifndef PROGRAM
static thread_local std::vector<char *> t_vector;
static thread_local std::unordered_map<int, char *> t_map;
thread_local char *t_array[60];

static char *block(const char *name) {
    char *p = static_cast<char *>(calloc(1, 3000));
    std::printf("%s\t%p\n", name, static_cast<void *>(p));
    return p;
}

extern "C" void fill() {
    for (int i = 0; i < 60; i++) {
        t_vector.push_back(block("t_vector"));
        t_map[i] = block("t_map");
        t_array[i] = block("t_array[…]");
    }
}
#else
int main() {
    void *library = dlopen("./later.so", RTLD_NOW);
    auto fill = reinterpret_cast<void (*)()>(dlsym(library, "fill"));
    fill();
    std::thread t([fill] {
        fill();
        std::puts("ready");
        std::fflush(stdout);
        for (;;) pause();
    });
    t.join();
}
#endif
