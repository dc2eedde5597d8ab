// Has blocks that are held in several ways, and writes what they are and where: "global NAME ADDRESS",
// "stack FUNCTION ADDRESS", "lost - ADDRESS", "cycle - ADDRESS".
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

struct Session {
    Session *next;
    char history[200];
};

std::map<int, Session *> g_sessions;
static Session *first_session;
namespace shop {
struct Cache {
    long size;
    std::vector<Session *> entries;
} cache;
}
static volatile bool running;
// Addresses are hidden, so that the table holds no block.
static unsigned long lost[100], cycles[100];

static Session *session(Session *next) {
    Session *s = new Session();
    s->next = next;
    return s;
}

static void show(const char *kind, const char *name, const void *block) {
    printf("%s %s %lx\n", kind, name, (unsigned long)block);
}

__attribute__((noinline)) static void clean() {
    volatile char b[64 << 10];
    for (char volatile &c : b) c = 0;
}

static void *lose(void *) {
    for (int i = 0; i < 100; i++) {
        lost[i] = ~(unsigned long)session(session(nullptr));
        Session *a = session(nullptr);
        a->next = session(session(a));
        cycles[i] = ~(unsigned long)a;
    }
    clean();
    return nullptr;
}

static void *handle_loop(void *) {
    Session *volatile mine = session(session(nullptr));
    show("stack", "handle_loop", mine->next);
    running = true;
    for (;;) pause();
    return mine;
}

int main() {
    setvbuf(stdout, nullptr, _IONBF, 0);
    pthread_t t;
    pthread_create(&t, nullptr, lose, nullptr);
    pthread_join(t, nullptr);
    for (int i = 0; i < 200; i++) {
        g_sessions[i] = session(session(nullptr));
        shop::cache.entries.push_back(session(nullptr));
        first_session = session(first_session);
    }
    for (int i = 0; i < 200; i += 10) {
        show("global", "g_sessions", g_sessions[i]->next);
        show("global", "shop::cache", shop::cache.entries[i]);
    }
    for (Session *s = first_session; s; s = s->next) show("global", "first_session", s);
    for (int i = 0; i < 100; i++) {
        printf("lost - %lx\n", ~lost[i]);
        printf("cycle - %lx\n", ~cycles[i]);
    }
    pthread_create(&t, nullptr, handle_loop, nullptr);
    pthread_setname_np(t, "worker");
    while (!running) usleep(100);
    clean();
    printf("ready\n");
    for (;;) pause();
}
