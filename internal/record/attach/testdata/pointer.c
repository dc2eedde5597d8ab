// Allocates half of its memory through a pointer that it has taken from dlsym.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static void on_term(int s) { (void)s, stop = 1; }

int main(void) {
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    signal(SIGTERM, on_term);
    printf("ready\n");
    fflush(stdout);
    while (!stop) {
        free(allocate(100));
        free(malloc(100));
        usleep(100);
    }
    printf("done\n");
    return 0;
}
