// A program that never waits: how far it gets in a second depends on the machine. It was recorded on a busy one.
//   busy lose    LEAK: Ledger::post forgets 1,000 B of each request.
//   busy keep    no leak: Ledger::post puts the same 1,000 B into a cache that holds the last 10,000 requests.
// Beside it: each request parses and frees 40 KiB of text. At the exit, the arena of 48 MiB that was filled first is freed.
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "work.h"

class Arena {
 public:
  void fill() {
    for (int i = 0; i < 48; i++) blocks_.push_back(std::make_unique<std::string>(1 << 20, char('a' + i % 26)));
  }
  char at(size_t i) const { return (*blocks_[i % blocks_.size()])[i % (1 << 20)]; }

 private:
  std::vector<std::unique_ptr<std::string>> blocks_;
};

class Ledger {
 public:
  explicit Ledger(bool keeps) : keeps_(keeps) {}

  void post(long request) {
    char* entry = new char[1000];
    std::memset(entry, int(request % 251), 1000);
    if (!keeps_) {
      last_ = entry;  // the one before is lost
      return;
    }
    cache_.emplace_back(entry);
    if (cache_.size() > 10000) cache_.pop_front();
  }
  char last() const { return last_ ? last_[0] : 0; }

 private:
  bool keeps_;
  char* last_ = nullptr;
  std::deque<std::unique_ptr<char[]>> cache_;
};

static unsigned parse(const Arena& arena, long request) {
  std::vector<std::string> fields;
  for (int i = 0; i < 40; i++) fields.emplace_back(1000, arena.at(size_t(request * 977 + i)));
  unsigned sum = 0;
  for (int round = 0; round < 12; round++)
    for (const auto& f : fields)
      for (char c : f) sum = sum * 31 + unsigned(c);
  return sum;
}

int main(int argc, char** argv) {
  long requests = argc > 2 ? std::atol(argv[2]) : 0;
  Ledger ledger(argc > 1 && std::string(argv[1]) == "keep");
  unsigned sum = 0;
  {
    Arena arena;
    arena.fill();
    for (long i = 0; requests == 0 || i < requests; i++) {
      sum += parse(arena, i);
      ledger.post(i);
    }
  }
  return int((sum + unsigned(ledger.last())) & 1);
}
