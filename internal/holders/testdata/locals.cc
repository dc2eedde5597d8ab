// Holds blocks by local variables, and writes the truth of each as a line of fields that are separated by tabs: thread,
// function, variable, its type, steps as the test writes them, address. "-" is a variable that must not be named, and
// one behind "?" may be in a register.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

static void show(const char *function, const char *variable, const char *type, const char *steps, const void *block) {
    char thread[16];
    prctl(PR_GET_NAME, thread);
    printf("%s\t%s\t%s\t%s\t%s\t%lx\n", thread, function, variable, type, steps, (unsigned long)block);
}

// use keeps a variable in memory.
template <typename T> static void use(T &variable) { asm volatile("" ::"r"(&variable) : "memory"); }

struct Message {
    std::string text = std::string(100, 'x');
    char body[200];
};

struct Broker {
    long id = 0;
    std::deque<Message *> queue;
    std::map<int, std::unique_ptr<Message>> waiting;
    Message *last = nullptr;
    Broker *backup = nullptr;

    __attribute__((noinline)) void put(int n) {
        for (int i = 0; i < n; i++) {
            queue.push_back(new Message());
            waiting[i] = std::make_unique<Message>();
        }
        last = new Message();
    }
};

// wait keeps all registers that a call preserves on the stack.
__attribute__((noinline)) static void wait(pthread_barrier_t *ready) {
    if (ready) pthread_barrier_wait(ready);
    for (;;) {
        pause();
        asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
    }
}

// clean overwrites what is left of earlier calls.
__attribute__((noinline)) static void clean() {
    volatile char b[64 << 10];
    for (char volatile &c : b) c = 0;
}

static pthread_barrier_t served, looped;

// run is inlined: its variables are in the frame of its caller.
__attribute__((always_inline)) static inline void run(pthread_barrier_t *ready) {
    std::vector<Message *> batch;
    use(batch);
    for (int i = 0; i < 50; i++) batch.push_back(new Message());
    show("run", "batch", "std::vector<Message*>", "[…] Message|.text std::string (100)", batch[20]->text.data());
    clean();
    wait(ready);
    use(batch);
}

static void *serve(void *) {
    pthread_setname_np(pthread_self(), "server");
    Broker broker;
    use(broker);
    broker.put(50);
    show("serve", "broker.queue", "std::deque<Message*>", "[…] Message", broker.queue[30]);
    show("serve", "broker.last", "Message *", " Message", broker.last);
    run(&served);
    use(broker);
    return nullptr;
}

// Variables that are not in scope.
__attribute__((noinline)) static void loop() {
    for (int round = 0;; round++) {
        Message *early = new Message();
        use(early);
        if (round == 1) {
            show("loop", "early", "Message *", " Message", early);
            clean();
            wait(&looped);
        }
        {
            Message *gone = new Message();
            use(gone);
            show("loop", "-", "", "", gone);
        }
        Message *late = new Message();
        use(late);
        show("loop", "-", "", "", late);
    }
}

static void *start_loop(void *) {
    pthread_setname_np(pthread_self(), "looper");
    loop();
    return nullptr;
}

// idle is started with a variable of main.
static void *idle(void *) {
    wait(nullptr);
    return nullptr;
}

union Either {
    Message *message;
    Broker *broker;
};

// visit has a pointer that its caller has in a variable, one that only it has, and one in a temporary of the caller.
__attribute__((noinline)) static void visit(Broker *visited, Message *given, std::unique_ptr<Message> owned) {
    use(visited);
    use(given);
    use(owned);
    show("main", "broker", "Broker *", " Broker|.last Message", visited->last);
    show("visit", "given", "Message *", " Message|.text std::string (100)", given->text.data());
    show("main", "-", "", "", owned.get());
    clean();
    printf("ready\n");
    wait(nullptr);
    use(visited);
    use(given);
    use(owned);
}

int main() {
    setvbuf(stdout, nullptr, _IONBF, 0);
    pthread_barrier_init(&served, nullptr, 2);
    pthread_barrier_init(&looped, nullptr, 2);
    pthread_t t;
    pthread_create(&t, nullptr, serve, nullptr);
    pthread_barrier_wait(&served);
    pthread_create(&t, nullptr, start_loop, nullptr);
    pthread_barrier_wait(&looped);

    Broker *broker = new Broker();
    use(broker);
    broker->put(100);
    show("main", "broker", "Broker *", " Broker|.queue std::deque<Message*>|[…] Message", broker->queue[60]);
    show("main", "broker", "Broker *", " Broker|.waiting std::map<int, std::unique_ptr<Message>> (100)|[…] Message",
         broker->waiting[60].get());
    broker->backup = new Broker();
    broker->backup->put(1);
    show("main", "broker", "Broker *", " Broker|.backup Broker|.last Message", broker->backup->last);
    Message *table[3][20] = {};
    use(table);
    table[1][7] = new Message();
    show("main", "table[1][…]", "Message *", " Message|.text std::string (100)", table[1][7]->text.data());
    Message *passed = new Message();
    use(passed);
    pthread_create(&t, nullptr, idle, passed);
    show("main", "passed", "Message *", " Message|.text std::string (100)", passed->text.data());
    unsigned long number = (unsigned long)new Message();
    use(number);
    show("main", "-", "", "", (void *)number);
    Either either;
    use(either);
    either.message = new Message();
    show("main", "-", "", "", either.message);
    Message *kept = new Message();
    show("main", "?kept", "Message *", " Message", kept);
    {
        std::string inner(100, 'i');
        use(inner);
        show("main", "inner", "std::string", " std::string (100)", inner.data());
        visit(broker, new Message(), std::make_unique<Message>());
        use(inner);
    }
    use(broker);
    use(table);
    use(passed);
    use(number);
    use(either);
    printf("%p\n", (void *)kept);
}
