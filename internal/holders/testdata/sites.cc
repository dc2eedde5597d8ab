// Holds blocks in many ways, and writes the truth of each as a line of fields that are separated by tabs: kind, name of
// the holder, type of the holder, steps as the test writes them, address.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <pthread.h>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

static void show(const char *kind, const char *name, const char *type, const char *steps, const void *block) {
    printf("%s\t%s\t%s\t%s\t%lx\n", kind, name, type, steps, (unsigned long)block);
}

struct Order {
    long id = 0;
    char *note = (char *)malloc(100);
};

struct Session {
    int number = 0;
    std::vector<char> history = std::vector<char>(100);
    std::string name = std::string(60, 'x');
    std::map<int, Order *> orders;
    Session *next = nullptr;
    Order order;
    Order *few[3] = {new Order(), new Order(), new Order()};
};

// Global variables and their members.
struct Slot {
    long key;
    Session *items;
};
struct Table {
    long used;
    struct {
        Slot cache[4];
        union {
            char *text;
            long number;
        };
    } inner;
    union {
        Session *session;
        Order *order;
    } either;
    unsigned low : 3, high : 5;
    void *anything;
    const Session *const *grid[2][3];
};
typedef struct {
    Order *first;
} orders_t;
struct Named {
    std::string title = std::string(50, 't');
};
struct Derived : Named, Table {
    Order *own;
};

Session *g_session;
Table g_table;
Table g_tables[3];
orders_t g_orders;
Derived g_derived;
Order *g_array[5];
Order *g_long[100][2];
namespace shop {
namespace {
Table hidden;
}
Table open;
} // namespace shop

// Containers.
std::map<int, Session *> g_map;
std::map<int, Session> g_map_values;
std::map<std::string, std::string> g_map_strings;
std::unordered_map<int, Session *> g_hash;
std::unordered_map<std::string, Session> g_hash_values;
std::unordered_set<std::string> g_hash_set;
std::set<Session *> g_set;
std::multimap<int, Order> g_multimap;
std::vector<Session *> g_vector;
std::vector<Session> g_vector_values;
std::vector<std::vector<int>> g_vectors;
std::vector<std::pair<int, Session *>> g_pairs;
std::list<Session *> g_list;
std::list<Session> g_list_values;
std::forward_list<Session *> g_forward;
std::list<Session> g_all;
std::vector<std::list<Session>::iterator> g_recent; // each element of the list is nearer from here
std::deque<Session *> g_deque;
std::queue<Session> g_queue;
std::string g_string;
std::unique_ptr<Session> g_unique;
std::unique_ptr<Order[]> g_unique_array;
std::vector<std::unique_ptr<Session>> g_vector_unique;
std::shared_ptr<Session> g_shared;
std::shared_ptr<Session> g_shared_new;
std::vector<std::shared_ptr<Session>> g_vector_shared;
std::optional<Session> g_optional;
std::array<Session *, 4> g_std_array;
std::function<void()> g_function;
std::atomic<Session *> g_atomic;
std::map<int, std::map<int, std::vector<Session>>> g_nested;

// Virtual functions.
struct Handler {
    virtual ~Handler() {}
    virtual int run() { return 0; }
    Session *session = new Session();
};
struct Logger {
    virtual ~Logger() {}
    char *line = (char *)malloc(200);
};
struct FileHandler : Handler {
    int run() override { return 1; }
    Order *last = new Order();
};
struct Both : Handler, Logger {
    Order *both = new Order();
};
namespace {
struct Secret : Handler {
    int run() override { return 2; }
};
} // namespace
Handler *g_handler;
Handler *g_both;
Logger *g_logger;
std::vector<Handler *> g_handlers;
std::shared_ptr<Handler> g_shared_handler;
void *g_void;

// Lists and trees.
struct Node {
    Node *next = nullptr;
    Order *payload = nullptr;
};
Node *g_nodes, *g_many_nodes;
std::list<Order *> g_many;
struct Tree {
    Tree *left = nullptr, *right = nullptr;
    std::string label = std::string(40, 'l');
};
Tree *g_tree;
struct list_head {
    list_head *next, *prev;
};
struct Task {
    long id;
    list_head link;
    Order *work;
};
struct Queue {
    Task *first;
};
Queue g_tasks;
struct Flexible {
    long n;
    Order *orders[];
};
Flexible *g_flexible;
struct Header { // as C wrote it before flexible arrays
    long n, more[4];
    Order *orders[1];
};
Header *g_header;
struct Plain {
    Plain *up;
    long numbers[4];
};
struct Larger : Plain {
    long more[6];
    Order *order;
};
Plain *g_plain; // has a Larger
Plain *g_plains;
Order **g_pointers;
Order *g_several;
struct Ring {
    std::shared_ptr<Ring> other;
    char content[100];
};
struct Owned;
struct Owner {
    std::vector<std::shared_ptr<Owned>> owned;
    Order *order = new Order();
};
struct Owned {
    std::shared_ptr<Owner> owner;
};
struct Visitor {
    virtual ~Visitor() {}
    Visitor *next = nullptr;
};

thread_local Session *t_session;
struct State {
    std::vector<Session *> sessions;
};
thread_local State t_state;
static volatile bool running;
static unsigned long lost[20], cycle[20], owners[20], orders[20], notes[20], visitors[20], alone[20];

// use keeps the compiler from leaving out what nobody reads.
static void use(void *p) { asm volatile("" ::"r"(p) : "memory"); }

static void globals() {
    use(&shop::hidden);
    g_session = new Session();
    show("global", "g_session", "Session *", " Session", g_session);
    show("global", "g_session", "Session *", " Session|.history std::vector<char> (100)", g_session->history.data());
    show("global", "g_session", "Session *", " Session|.name std::string (60)", g_session->name.data());
    show("global", "g_session", "Session *", " Session|.order.note char []", g_session->order.note);
    show("global", "g_session", "Session *", " Session|.few[…] Order", g_session->few[1]);
    show("global", "g_session", "Session *", " Session|.few[…] Order|.note char []", g_session->few[2]->note);
    for (int i = 0; i < 50; i++) g_session->orders[i] = new Order();
    show("global", "g_session", "Session *", " Session|.orders std::map<int, Order*> (50)|[…] Order", g_session->orders[30]);
    show("global", "g_session", "Session *", " Session|.orders std::map<int, Order*> (50)|[…] Order|.note char []",
         g_session->orders[31]->note);
    g_session->next = new Session();
    show("global", "g_session", "Session *", " Session|.next Session", g_session->next);
    g_table.inner.cache[3].items = new Session();
    show("global", "g_table.inner.cache[3].items", "Session *", " Session", g_table.inner.cache[3].items);
    g_table.inner.text = (char *)malloc(50);
    show("global", "g_table.inner.text", "char *", " char []", g_table.inner.text);
    g_table.either.session = new Session();
    show("global", "g_table.either", "", " ", g_table.either.session);
    g_table.anything = new Session();
    show("global", "g_table.anything", "void *", " ", g_table.anything);
    g_table.grid[1][2] = (const Session *const *)malloc(80);
    memset((void *)g_table.grid[1][2], 0, 80);
    const_cast<const Session **>(g_table.grid[1][2])[4] = new Session();
    show("global", "g_table.grid[1][2]", "const Session **", " const Session *[]|[…] Session", g_table.grid[1][2][4]);
    g_tables[2].inner.cache[1].items = new Session();
    show("global", "g_tables[2].inner.cache[1].items", "Session *", " Session|.name std::string (60)",
         g_tables[2].inner.cache[1].items->name.data());
    g_orders.first = new Order();
    show("global", "g_orders.first", "Order *", " Order", g_orders.first);
    g_derived.own = new Order();
    show("global", "g_derived.own", "Order *", " Order", g_derived.own);
    show("global", "g_derived.title", "std::string", " std::string (50)", g_derived.title.data());
    g_derived.inner.cache[0].items = new Session();
    show("global", "g_derived.inner.cache[0].items", "Session *", " Session", g_derived.inner.cache[0].items);
    g_long[70][1] = new Order();
    show("global", "g_long[…][1]", "Order *", " Order", g_long[70][1]);
    g_array[4] = new Order();
    show("global", "g_array[4]", "Order *", " Order", g_array[4]);
    shop::hidden.inner.cache[0].items = new Session();
    show("global", "shop::(anonymous namespace)::hidden.inner.cache[0].items", "Session *", " Session",
         shop::hidden.inner.cache[0].items);
    shop::open.inner.cache[0].items = new Session();
    show("global", "shop::open.inner.cache[0].items", "Session *", " Session", shop::open.inner.cache[0].items);
}

static void containers() {
    for (int i = 0; i < 100; i++) {
        std::string key = std::string(50, 'k') + std::to_string(i);
        g_map[i] = new Session();
        g_map_values[i];
        g_map_strings[key] = std::string(70, 'v');
        g_hash[i] = new Session();
        g_hash_values[key];
        g_hash_set.insert(key);
        g_set.insert(new Session());
        g_multimap.insert({i, Order()});
        g_vector.push_back(new Session());
        g_vector_values.emplace_back();
        g_vectors.emplace_back(100);
        g_pairs.push_back({i, new Session()});
        g_list.push_back(new Session());
        g_list_values.emplace_back();
        g_all.emplace_back();
        g_recent.push_back(std::prev(g_all.end()));
        g_forward.push_front(new Session());
        g_deque.push_back(new Session());
        g_queue.emplace();
        g_vector_unique.emplace_back(new Session());
        g_vector_shared.push_back(std::make_shared<Session>());
    }
    show("global", "g_map", "std::map<int, Session*>", "[…] Session", g_map[20]);
    show("global", "g_map", "std::map<int, Session*>", "[…] Session|.history std::vector<char> (100)",
         g_map[77]->history.data());
    show("global", "g_map_values", "std::map<int, Session>", "[…] Session", &g_map_values[60]);
    show("global", "g_map_values", "std::map<int, Session>", "[…] Session|.name std::string (60)",
         g_map_values[50].name.data());
    show("global", "g_map_strings", "std::map<std::string, std::string>", "[…] std::string (70)",
         std::next(g_map_strings.begin(), 40)->second.data());
    show("global", "g_map_strings", "std::map<std::string, std::string>", "[…] std::string (52)",
         std::next(g_map_strings.begin(), 41)->first.data());
    show("global", "g_map_strings", "std::map<std::string, std::string>", " std::map<std::string, std::string> (100)",
         &std::next(g_map_strings.begin(), 42)->second);
    show("global", "g_hash", "std::unordered_map<int, Session*>", "[…] Session", g_hash[33]);
    show("global", "g_hash_values", "std::unordered_map<std::string, Session>", "[…] Session|.few[…] Order",
         g_hash_values.begin()->second.few[0]);
    show("global", "g_hash_values", "std::unordered_map<std::string, Session>", "[…] Session",
         &std::next(g_hash_values.begin(), 30)->second);
    show("global", "g_hash_set", "std::unordered_set<std::string>", "[…] std::string (52)",
         std::next(g_hash_set.begin(), 30)->data());
    show("global", "g_set", "std::set<Session*>", "[…] Session", *g_set.begin());
    show("global", "g_multimap", "std::multimap<int, Order>", "[…] Order|.note char []", g_multimap.find(50)->second.note);
    show("global", "g_vector", "std::vector<Session*>", "[…] Session", g_vector[50]);
    show("global", "g_vector", "std::vector<Session*>", " std::vector<Session*> (100)", g_vector.data());
    show("global", "g_vector_values", "std::vector<Session>", "[…] Session|.history std::vector<char> (100)",
         g_vector_values[57].history.data());
    show("global", "g_vectors", "std::vector<std::vector<int>>", "[…] std::vector<int> (100)", g_vectors[3].data());
    show("global", "g_pairs", "std::vector<std::pair<int, Session*>>", "[…] Session", g_pairs[40].second);
    show("global", "g_list", "std::list<Session*>", "[…] Session", g_list.back());
    show("global", "g_list", "std::list<Session*>", "[…] Session", *std::next(g_list.begin(), 50));
    show("global", "g_list_values", "std::list<Session>", "[…] Session|.history std::vector<char> (100)",
         std::next(g_list_values.begin(), 50)->history.data());
    show("global", "g_recent", "std::vector<std::_List_iterator<Session>>", "[…] Session|.history std::vector<char> (100)",
         g_recent[50]->history.data());
    show("global", "g_forward", "std::forward_list<Session*>", "[…] Session", *std::next(g_forward.begin(), 50));
    show("global", "g_deque", "std::deque<Session*>", "[…] Session", g_deque[70]);
    show("global", "g_deque", "std::deque<Session*>", "[…] Session", g_deque[5]);
    show("global", "g_queue", "std::queue<Session>", "[…] Session|.name std::string (60)", g_queue.front().name.data());
    g_string = std::string(100, 's');
    show("global", "g_string", "std::string", " std::string (100)", g_string.data());
    g_unique.reset(new Session());
    show("global", "g_unique", "std::unique_ptr<Session>", " Session", g_unique.get());
    show("global", "g_unique", "std::unique_ptr<Session>", " Session|.few[…] Order", g_unique->few[1]);
    g_unique_array.reset(new Order[7]);
    show("global", "g_unique_array", "std::unique_ptr<Order[]>", " Order|[…].note char []", g_unique_array[4].note);
    show("global", "g_vector_unique", "std::vector<std::unique_ptr<Session>>", "[…] Session", g_vector_unique[5].get());
    g_shared = std::make_shared<Session>();
    show("global", "g_shared", "std::shared_ptr<Session>", " Session", g_shared.get());
    show("global", "g_shared", "std::shared_ptr<Session>", " Session|.name std::string (60)", g_shared->name.data());
    g_shared_new.reset(new Session());
    show("global", "g_shared_new", "std::shared_ptr<Session>", " Session|.history std::vector<char> (100)",
         g_shared_new->history.data());
    show("global", "g_vector_shared", "std::vector<std::shared_ptr<Session>>", "[…] Session|.few[…] Order",
         g_vector_shared[50]->few[2]);
    g_optional.emplace();
    show("global", "g_optional", "std::optional<Session>", ".few[…] Order", g_optional->few[1]);
    g_std_array[2] = new Session();
    show("global", "g_std_array", "std::array<Session*, 4>", " Session", g_std_array[2]);
    std::array<long, 10> captured{};
    g_function = [captured] { abort(); };
    show("global", "g_function", "std::function<void()>", " ", *(void **)&g_function);
    g_atomic = new Session();
    show("global", "g_atomic", "std::atomic<Session*>", " Session", g_atomic.load());
    g_nested[1][2].resize(3);
    show("global", "g_nested", "std::map<int, std::map<int, std::vector<Session>>>",
         "[…] std::map<int, std::vector<Session>> (1)|[…] std::vector<Session> (3)|[…] Session|.few[…] Order",
         g_nested[1][2][1].few[0]);
}

static void classes() {
    g_handler = new FileHandler();
    show("global", "g_handler", "Handler *", " FileHandler", g_handler);
    show("global", "g_handler", "Handler *", " FileHandler|.session Session", g_handler->session);
    show("global", "g_handler", "Handler *", " FileHandler|.last Order", static_cast<FileHandler *>(g_handler)->last);
    Both *both = new Both();
    g_both = both;
    show("global", "g_both", "Handler *", " Both|.both Order", both->both);
    show("global", "g_both", "Handler *", " Both|.line char []", both->line);
    both = new Both();
    g_logger = both;
    show("global", "g_logger", "Logger *", " Both|.both Order", both->both);
    for (int i = 0; i < 40; i++) g_handlers.push_back(new Secret());
    show("global", "g_handlers", "std::vector<Handler*>", "[…] (anonymous namespace)::Secret", g_handlers[20]);
    show("global", "g_handlers", "std::vector<Handler*>", "[…] (anonymous namespace)::Secret|.session Session",
         g_handlers[21]->session);
    std::shared_ptr<FileHandler> made = std::make_shared<FileHandler>();
    g_shared_handler = made;
    show("global", "g_shared_handler", "std::shared_ptr<Handler>", " FileHandler|.last Order", made->last);
    FileHandler *anything = new FileHandler();
    g_void = anything;
    show("global", "g_void", "void *", " FileHandler|.last Order", anything->last);
}

static void lists() {
    for (int i = 0; i < 1000; i++) {
        Node *n = new Node();
        n->next = g_nodes;
        g_nodes = n;
    }
    Node *n = g_nodes;
    for (int i = 0; i < 500; i++) n = n->next;
    show("global", "g_nodes", "Node *", " Node +499|.next Node", n);
    n->payload = new Order();
    show("global", "g_nodes", "Node *", " Node +499|.next Node|.payload Order", n->payload);
    for (int i = 0; i < 5000; i++) {
        n = new Node();
        n->next = g_many_nodes;
        g_many_nodes = n;
        g_many.push_back(new Order());
    }
    for (int i = 0; i < 4000; i++) n = n->next;
    show("global", "g_many_nodes", "Node *", " Node +3999|.next Node", n);
    n->payload = new Order();
    show("global", "g_many_nodes", "Node *", " Node +3999|.next Node|.payload Order|.note char []", n->payload->note);
    show("global", "g_many", "std::list<Order*>", "[…] Order", *std::next(g_many.begin(), 2500));
    Tree *t = g_tree = new Tree();
    for (int i = 0; i < 5; i++) t = i % 2 ? t->left = new Tree() : t->right = new Tree();
    show("global", "g_tree", "Tree *", " Tree +4|.right Tree|.label std::string (40)", t->label.data());
    g_tasks.first = new Task();
    list_head *at = &g_tasks.first->link;
    Task *task = nullptr;
    for (int i = 0; i < 20; i++) {
        task = new Task();
        at->next = &task->link;
        task->link.prev = at;
        at = &task->link;
    }
    task->work = new Order();
    show("global", "g_tasks.first", "Task *", " Task +19|.link.next Task|.work Order", task->work);
    g_flexible = (Flexible *)calloc(1, sizeof(Flexible) + 10 * sizeof(Order *));
    g_flexible->orders[7] = new Order();
    show("global", "g_flexible", "Flexible *", " Flexible|.orders[…] Order", g_flexible->orders[7]);
    g_header = (Header *)calloc(1, sizeof(Header) + 47 * sizeof(Order *));
    g_header->orders[42] = new Order();
    show("global", "g_header", "Header *", " Header| ", g_header->orders[42]);
    Larger *larger = new Larger();
    larger->order = new Order();
    g_plain = larger;
    show("global", "g_plain", "Plain *", " Plain| ", larger->order);
    g_plains = new Plain[8]();
    g_plains[5].up = new Plain();
    show("global", "g_plains", "Plain *", " Plain|[…].up Plain", g_plains[5].up);
    g_pointers = (Order **)calloc(20, sizeof(Order *));
    g_pointers[15] = new Order();
    show("global", "g_pointers", "Order **", " Order *[]|[…] Order", g_pointers[15]);
}

__attribute__((noinline)) static void clean() {
    volatile char b[64 << 10];
    for (char volatile &c : b) c = 0;
}

static void *lose(void *) {
    for (int i = 0; i < 20; i++) {
        Node *n = new Node();
        n->next = new Node();
        use(n);
        lost[i] = ~(unsigned long)n->next;
        auto a = std::make_shared<Ring>(), b = std::make_shared<Ring>();
        a->other = b;
        b->other = a;
        cycle[i] = ~(unsigned long)a.get();
        std::shared_ptr<Owner> owner(new Owner()); // its counters are in a block of their own
        owner->owned.push_back(std::make_shared<Owned>());
        owner->owned[0]->owner = owner;
        owners[i] = ~(unsigned long)owner.get();
        orders[i] = ~(unsigned long)owner->order;
        notes[i] = ~(unsigned long)owner->order->note;
        auto self = std::make_shared<Ring>();
        self->other = self;
        alone[i] = ~(unsigned long)self.get();
        auto *visitor = new Visitor();
        visitor->next = new Visitor();
        visitor->next->next = visitor;
        visitors[i] = ~(unsigned long)visitor;
    }
    clean();
    return nullptr;
}

__attribute__((noinline)) static void show_thread(Handler *mine) {
    show("thread-local", "t_session", "Session *", " Session|.name std::string (60)", t_session->name.data());
    show("thread-local", "t_state.sessions", "std::vector<Session*>", "[…] Session", t_state.sessions[0]);
    show("stack", "worker", "serve", " FileHandler|.last Order", static_cast<FileHandler *>(mine)->last);
}

__attribute__((noinline)) static Handler *prepare() {
    t_session = new Session();
    t_state.sessions.push_back(new Session());
    return new FileHandler();
}

__attribute__((always_inline)) static inline int wait() {
    volatile int calls = 0;
    while (calls >= 0) {
        pause();
        calls = 1;
    }
    return calls;
}

// What threads run that are started by functions without a name, two of them in one function.
static void name_runner(std::thread t) {
    pthread_setname_np(t.native_handle(), "runner");
    t.detach();
}

struct Runner {
    long calls = 0;
    Order *order = new Order();
    void start(Session *session) {
        name_runner(std::thread([this] { use(this), wait(); }));
        name_runner(std::thread([session] { use(session), wait(); }));
        show("thread-local", "runner", "", " std::thread| Runner|.order Order", order);
        show("thread-local", "runner", "", " std::thread| Session|.few[…] Order", session->few[2]);
    }
};

static void *serve(void *) {
    Handler *volatile mine = prepare();
    show_thread(mine);
    clean();
    running = true;
    return wait() ? nullptr : mine;
}

// What only this file knows has no mangled names in debug information, and clang does not tell the function around.
#ifdef __clang__
#define START " std::thread| | "
#else
#define START " std::thread| Runner|.order Order"
#endif
__attribute__((noinline)) static void start(Runner *runner) {
    name_runner(std::thread([runner] { use(runner), wait(); }));
    show("thread-local", "runner", "", START, runner->order);
}

int main() {
    setvbuf(stdout, nullptr, _IONBF, 0);
    globals();
    containers();
    classes();
    lists();
    (new Runner())->start(new Session());
    start(new Runner());
    pthread_t t;
    pthread_create(&t, nullptr, lose, nullptr);
    pthread_join(t, nullptr);
    for (int i = 0; i < 20; i++) {
        show("lost", "", "", " | ", (void *)~lost[i]);
        show("cycle", "", "shared_ptr", " Ring|.other Ring", (void *)~cycle[i]);
#define OWNERS " Owner|.owned std::vector<std::shared_ptr<Owned>> (1)|[…] Owned|.owner Owner"
        show("cycle", "", "shared_ptr", OWNERS, (void *)~owners[i]);
        show("cycle", "", "shared_ptr", OWNERS "|.order Order", (void *)~orders[i]);
        show("cycle", "", "shared_ptr", OWNERS "|.order Order|.note char []", (void *)~notes[i]);
        show("cycle", "", "shared_ptr", " Ring|.other Ring", (void *)~alone[i]);
        show("cycle", "", "", " Visitor|.next Visitor", (void *)~visitors[i]);
    }
    t_session = new Session();
    show("thread-local", "t_session", "Session *", " Session|.few[…] Order", t_session->few[1]);
    pthread_create(&t, nullptr, serve, nullptr);
    pthread_setname_np(t, "worker");
    while (!running) usleep(100);
    clean();
    printf("ready\n");
    for (;;) pause();
}
