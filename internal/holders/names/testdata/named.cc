// Has blocks that are held by variables and by a thread, and writes their addresses.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

char *plain;
static char *only_here;
namespace shop {
struct Cache {
    long size;
    char *entries[100];
} cache;
}
static volatile bool running;

static void show(const char *name, const char *block) {
    printf("%s %lx\n", name, (unsigned long)block);
}

static void *handle_loop(void *) {
    char *volatile block = (char *)malloc(200);
    show("stack", block);
    running = true;
    for (;;) pause();
    return block;
}

int main() {
    setvbuf(stdout, nullptr, _IONBF, 0);
    show("plain", plain = (char *)malloc(100));
    show("only_here", only_here = (char *)malloc(100));
    show("shop::cache", shop::cache.entries[50] = (char *)malloc(100));
    pthread_t t;
    pthread_create(&t, nullptr, handle_loop, nullptr);
    pthread_setname_np(t, "worker");
    while (!running) usleep(100);
    printf("ready\n");
    for (;;) pause();
}
