// The service of service.py in C++: service KIND CAP [threads N]
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <list>
#include <memory>
#include <mutex>
#include <queue>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

class Store {
 public:
  virtual ~Store() = default;
  virtual void keep(long key, long size) = 0;
  virtual void once(long size) = 0;
  virtual void drop(long key) = 0;
};

class Sessions : public Store {  // std::unordered_map
 public:
  void keep(long key, long size) override { sessions_[key] = make(size); }  // leak: map
  void once(long size) override { make(size); }
  void drop(long key) override { sessions_.erase(key); }

 private:
  static std::string make(long size) {
    return std::string(size, 's');  // leak: map
  }
  std::unordered_map<long, std::string> sessions_;
};

class History : public Store {  // std::vector, whose elements move when it grows
 public:
  void keep(long key, long size) override {
    events_.emplace_back(key, make(size));  // leak: vector
  }
  void once(long size) override { make(size); }
  void drop(long key) override {
    for (auto e = events_.begin(); e != events_.end(); ++e) {
      if (e->first != key) continue;
      events_.erase(e);
      return;
    }
  }

 private:
  static std::vector<double> make(long size) {
    return std::vector<double>(size / 8, 1.0);  // leak: vector
  }
  std::vector<std::pair<long, std::vector<double>>> events_;
};

struct Node {
  std::shared_ptr<Node> peer;
  std::string body;
};

class Graph : public Store {  // two objects that refer to each other, until drop separates them
 public:
  void keep(long key, long size) override {
    known_[key] = make(size);  // leak: shared
  }
  void once(long size) override { make(size)->peer.reset(); }
  void drop(long key) override {
    auto found = known_.find(key);
    if (found == known_.end()) return;
    if (auto node = found->second.lock()) node->peer.reset();
    known_.erase(found);
  }

 private:
  static std::shared_ptr<Node> make(long size) {
    auto a = std::make_shared<Node>();  // leak: shared
    auto b = std::make_shared<Node>();  // leak: shared
    a->body.assign(size, 'a');          // leak: shared
    a->peer = b;
    b->peer = a;
    return a;
  }
  std::unordered_map<long, std::weak_ptr<Node>> known_;
};

class Pages : public Store {  // an LRU cache: std::list with an index
 public:
  void keep(long key, long size) override {
    order_.push_front(make(key, size));  // leak: lru
    index_[key] = order_.begin();        // leak: lru
  }
  void once(long size) override { make(0, size); }
  void drop(long key) override {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    order_.erase(found->second);
    index_.erase(found);
  }

 private:
  struct Page {
    long key;
    std::unique_ptr<char[]> text;
  };
  static Page make(long key, long size) {
    auto text = std::make_unique<char[]>(size);  // leak: lru
    return {key, std::move(text)};
  }
  std::list<Page> order_;
  std::unordered_map<long, std::list<Page>::iterator> index_;
};

class Service {
 public:
  Service(const std::string& kind, long cap) : cap_(cap) {
    if (kind == "map") store_ = std::make_unique<Sessions>();
    if (kind == "vector") store_ = std::make_unique<History>();
    if (kind == "shared") store_ = std::make_unique<Graph>();
    if (kind == "lru") store_ = std::make_unique<Pages>();
  }

  void serve(const std::string& line) {
    std::istringstream in(line);
    char op;
    long a = 0, b = 0;
    in >> op >> a >> b;
    std::lock_guard<std::mutex> lock(mutex_);
    if (op == 'k') keep(a, b);
    if (op == 't') store_->once(a);
    if (op == 'd') store_->drop(a);
    if (op == 'b') note(a, b);
  }

 private:
  void keep(long key, long size) {
    store_->keep(key, size);
    if (cap_ > 0) store_->drop(key - cap_);
  }
  void note(long slot, long size) { recent_[slot] = std::vector<std::string>(size / 200 + 1, std::string(168, 'r')); }

  long cap_;
  std::unique_ptr<Store> store_;
  std::unordered_map<long, std::vector<std::string>> recent_;
  std::mutex mutex_;
};

class Queue {
 public:
  void put(std::string line) {
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.push(std::move(line));
    ready_.notify_one();
  }
  std::string take() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop();
    return line;
  }

 private:
  std::queue<std::string> lines_;
  std::mutex mutex_;
  std::condition_variable ready_;
};

int main(int argc, char** argv) {
  Service service(argv[1], std::atol(argv[2]));
  Queue queue;
  int threads = argc > 4 ? std::atoi(argv[4]) : 0;
  for (int i = 0; i < threads; i++)
    std::thread([&] {
      for (;;) service.serve(queue.take());
    }).detach();
  for (std::string line; std::getline(std::cin, line);) {
    if (threads > 0)
      queue.put(line);
    else
      service.serve(line);
  }
  std::_Exit(0);
}
