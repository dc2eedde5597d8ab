// Has blocks of two allocators, and writes the truth of some as sites.cc does.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *je_malloc(size_t size);
void je_free(void *p);

struct node {
    struct node *next;
    long content[5];
};
struct node *g_list;
struct node *g_other;
static unsigned long lost[20];

static void show(const char *kind, const char *name, const char *type, const char *steps, const void *block) {
    printf("%s\t%s\t%s\t%s\t%lx\n", kind, name, type, steps, (unsigned long)block);
}

__attribute__((noinline)) static void lose(void) {
    for (int i = 0; i < 20; i++) {
        struct node *n = je_malloc(sizeof *n);
        memset(n, 0, sizeof *n);
        lost[i] = ~(unsigned long)n;
    }
}

// Blocks in the cache of the thread must not be taken for lost ones, nor for blocks that hold others.
__attribute__((noinline)) static void release(void) {
    for (int i = 0; i < 20; i++) {
        struct node *n = je_malloc(3000);
        n->next = (struct node *)~lost[i];
        je_free(n);
    }
}

__attribute__((noinline)) static void clean(void) {
    volatile char b[64 << 10];
    for (size_t i = 0; i < sizeof b; i++) b[i] = 0;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    g_other = calloc(1, sizeof *g_other);
    for (int i = 0; i < 3000; i++) {
        struct node *n = je_malloc(sizeof *n);
        memset(n, 0, sizeof *n);
        n->next = g_list;
        g_list = n;
    }
    g_other->next = je_malloc(sizeof *g_other);
    memset(g_other->next, 0, sizeof *g_other);
    show("global", "g_list", "node *", " node|.next node", g_list->next);
    show("global", "g_other", "node *", " node|.next node", g_other->next);
    lose();
    release();
    for (int i = 0; i < 20; i++) show("lost", "", "", " ", (void *)~lost[i]);
    clean();
    puts("ready");
    for (;;) pause();
}
