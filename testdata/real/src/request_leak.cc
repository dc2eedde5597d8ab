// LEAK, steady: AuditLog::record forgets the entry of the request before: 200 a second x 384 B = 75 KiB/s.
// Beside it: requests that are freed at once, a route table (1 MiB) that stays, and a ring of the last 2,000 responses (full after 10 s).
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "work.h"

struct Request {
  std::string path;
  std::vector<std::string> headers;
};

struct Response {
  std::string body;
};

class AuditLog {
 public:
  void record(const Request& r) {
    auto* e = new Entry;
    std::strncpy(e->path, r.path.c_str(), sizeof e->path - 1);
    e->before = seen_++;
    last_ = e;  // the one before is lost
  }
  long seen() const { return seen_ + (last_ ? last_->path[0] : 0); }

 private:
  struct Entry {
    char path[376] = {};
    long before = 0;
  };
  Entry* last_ = nullptr;
  long seen_ = 0;
};

class Router {
 public:
  void mount() {
    for (int i = 0; i < 1024; i++) routes_.push_back(std::string(1000, char('a' + i % 26)));
  }
  const std::string& find(const Request& r) const { return routes_[r.path.size() % routes_.size()]; }

 private:
  std::vector<std::string> routes_;
};

class Server {
 public:
  Server() { router_.mount(); }

  void handle(Dice& dice) {
    Request r = parse(dice);
    audit_.record(r);
    answer(r, dice);
  }
  long seen() const { return audit_.seen(); }

 private:
  Request parse(Dice& dice) {
    Request r{"/item/" + std::string(dice.between(10, 300), 'i'), {}};
    for (long i = dice.between(4, 16); i > 0; i--) r.headers.push_back("Header: " + std::string(dice.between(8, 200), 'v'));
    return r;
  }
  void answer(const Request& r, Dice& dice) {
    recent_.push_back(std::make_unique<Response>(Response{router_.find(r) + std::string(dice.between(100, 1000), 'b')}));
    if (recent_.size() > 2000) recent_.pop_front();
  }

  AuditLog audit_;
  Router router_;
  std::deque<std::unique_ptr<Response>> recent_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 200);
  Dice dice;
  Server server;
  while (clock.next()) server.handle(dice);
  return server.seen() == 0;
}
