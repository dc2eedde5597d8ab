// Has blocks that are held in several ways, and writes what they are and where: "global NAME ADDRESS",
// "thread-local NAME ADDRESS", "stack FUNCTION ADDRESS", "unknown - ADDRESS", "lost - ADDRESS", "cycle - ADDRESS". With an
// argument it loads the library of that path, whose function load returns a block. With LARGE, its thread-local variables
// do not fit in the data of musl.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
    struct node *next;
    char payload[200];
};

enum { MANY = 100, BUCKETS = 64 };
struct node *table[BUCKETS];
static struct node *first;
static struct node *volatile aligned;
char *interior;
__thread struct node *own;
#ifdef LARGE
__thread char room[4000] = {1};
#endif
static __thread struct node *volatile others[8];
static pthread_key_t key;
static struct node **mapped;
static volatile int running;
// Addresses are hidden, so that the table holds no block.
static unsigned long lost[MANY], under[MANY], cycles[MANY];

static struct node *make(struct node *next) {
    struct node *n = calloc(1, sizeof *n);
    n->next = next;
    return n;
}

static void show(const char *kind, const char *name, const void *block) {
    printf("%s %s %lx\n", kind, name, (unsigned long)block);
}

__attribute__((noinline)) static void clean(void) {
    volatile char b[64 << 10];
    for (size_t i = 0; i < sizeof b; i++) b[i] = 0;
}

static void *lose(void *unused) {
    for (int i = 0; i < MANY; i++) {
        struct node *n = make(make(NULL));
        under[i] = ~(unsigned long)n->next;
        lost[i] = ~(unsigned long)n;
        struct node *a = make(NULL);
        a->next = make(make(a));
        cycles[i] = ~(unsigned long)a;
    }
    clean();
    return unused;
}

static void remember(void) {
    own = make(make(NULL));
    show("thread-local", "own", own->next);
    others[3] = make(NULL);
    show("thread-local", "others", others[3]);
    struct node *n = make(make(NULL));
    pthread_setspecific(key, n);
    show("thread-local", "-", n->next);
}

static void *handle_loop(void *name) {
    pthread_setname_np(pthread_self(), name);
    remember();
    struct node *volatile mine = make(make(NULL));
    show("stack", "handle_loop", mine->next);
    running++;
    for (;;) pause();
    return mine;
}

static void start(pthread_attr_t *attributes) {
    pthread_t t;
    int before = running;
    if (pthread_create(&t, attributes, handle_loop, "worker") != 0) abort();
    while (running == before) usleep(100);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_t t;
    pthread_create(&t, NULL, lose, NULL);
    pthread_join(t, NULL);
    pthread_key_create(&key, NULL);
    for (int i = 0; i < 5 * MANY; i++) {
        table[i % BUCKETS] = make(table[i % BUCKETS]);
        first = make(first);
    }
    aligned = aligned_alloc(4096, 8192);
    aligned->next = make(NULL);
    interior = make(make(NULL))->payload;
    show("global", "aligned", aligned);
    show("global", "aligned", aligned->next);
    show("global", "interior", ((struct node *)(interior - 8))->next);
    for (int i = 0; i < BUCKETS; i++)
        for (struct node *n = table[i]; n; n = n->next) show("global", "table", n);
    for (struct node *n = first; n; n = n->next) show("global", "first", n);
    mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < MANY; i++) {
        mapped[7 * i] = make(make(NULL));
        show("unknown", "-", mapped[7 * i]->next);
    }
    remember();
    start(NULL);
    start(NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const size_t size = 1 << 18;
    pthread_attr_setstack(&attributes, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
    start(&attributes);
    for (int i = 0; i < MANY; i++) {
        printf("lost - %lx\n", ~lost[i]);
        printf("lost - %lx\n", ~under[i]);
        printf("cycle - %lx\n", ~cycles[i]);
    }
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void *(*load)(void) = library ? (void *(*)(void))dlsym(library, "load") : NULL;
        if (!load) abort();
        show("global", "-", load()); // it is in the library's memory, which belongs to the dynamic linker
    }
    clean();
    puts("ready");
    for (;;) pause();
}
