// A shop's server that leaks on purpose, for recordings by heaptrack and massif. Each handler has a
// thread and works 20 times a second, by the clock.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop {

struct Page {
  char bytes[4096];
};

struct Session {
  char state[3000];
};

// LEAK: sessions are never closed.
class Sessions {
 public:
  __attribute__((noinline)) void open(int id) { all_[id].state[0] = 's'; }

 private:
  std::map<int, Session> all_;
};

struct Entry {
  char text[3500];
};

// LEAK: entries are never written out.
class AuditLog {
 public:
  __attribute__((noinline)) void append(const Entry &e) { entries_.push_back(e); }

 private:
  std::list<Entry> entries_;
};

// LEAK: series are never dropped. Each is a vector that is resized until it has 400 samples.
class Metrics {
 public:
  __attribute__((noinline)) void observe() {
    std::vector<double> series;
    for (int i = 0; i < 400; i++) series.push_back(i);
    all_.push_back(std::move(series));
  }

 private:
  std::list<std::vector<double>> all_;
};

// LEAK: the copy is lost.
__attribute__((noinline)) void greet(const char *name) {
  volatile char *copy = strdup(name);
  copy[0] = 'x';
}

// CACHE: full after a third of the run.
template <typename Value>
class Cache {
 public:
  explicit Cache(size_t limit) : limit_(limit) {}
  __attribute__((noinline)) void load(int key) {
    values_[key] = std::make_unique<Value>();
    if (values_.size() > limit_) values_.erase(values_.begin());
  }

 private:
  size_t limit_;
  std::map<int, std::unique_ptr<Value>> values_;
};

// LOAD: as many connections as the load has.
class Pool {
 public:
  __attribute__((noinline)) void resize(size_t n) {
    while (connections_.size() < n) connections_.push_back(std::make_unique<Page>());
    connections_.resize(n);
  }

 private:
  std::vector<std::unique_ptr<Page>> connections_;
};

// The load rises for half of the run, and falls again.
size_t load(double part) { return 400 * (part < 0.5 ? 2 * part : 2 - 2 * part); }

// CHURN: nothing is kept.
__attribute__((noinline)) size_t render(int n) {
  std::vector<std::string> lines(4, std::string(64 + n % 64, '-'));
  return lines.back().size();
}

// Clock ticks 20 times a second.
class Clock {
 public:
  void wait(int tick) { std::this_thread::sleep_until(begin_ + std::chrono::milliseconds(50) * tick); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

constexpr int forever = 1 << 30;  // until the first handler ends the program

void handle_login(int ticks) {
  Sessions sessions;
  Clock clock;
  for (int i = 0; i < ticks; i++) {
    clock.wait(i);
    sessions.open(i);
  }
  exit(0);  // frees none of them
}

void handle_order(int) {
  AuditLog log;
  Clock clock;
  for (int i = 0; i < forever; i++) {
    clock.wait(i);
    log.append(Entry());
  }
}

void handle_statistics(int) {
  Metrics metrics;
  Clock clock;
  for (int i = 0; i < forever; i++) {
    clock.wait(i);
    metrics.observe();
  }
}

void handle_visit(int) {
  const std::string name(3000, 'n');
  Clock clock;
  for (int i = 0; i < forever; i++) {
    clock.wait(i);
    greet(name.c_str());
  }
}

void handle_pages(int ticks) {
  Cache<Page> cache(ticks / 3);
  Pool pool;
  Clock clock;
  for (int i = 0; i < forever; i++) {
    clock.wait(i);
    cache.load(i);
    pool.resize(load(i < ticks ? double(i) / ticks : 1));
    render(i);
  }
}

}  // namespace shop

int main(int argc, char **argv) {
  const int ticks = 20 * (argc > 1 ? atoi(argv[1]) : 24);
  std::thread threads[] = {
      std::thread(shop::handle_login, ticks),      std::thread(shop::handle_order, ticks),
      std::thread(shop::handle_statistics, ticks), std::thread(shop::handle_visit, ticks),
      std::thread(shop::handle_pages, ticks),
  };
  for (auto &t : threads) t.join();
}
