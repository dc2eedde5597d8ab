// A server that builds an index for 18 s, about 1 MiB a second, and then answers requests.
//   start_up lose   LEAK: Requests::handle forgets the 640 B of every request, 150 a second, 94 KiB/s, from 18 s on.
//   start_up keep   no leak: Requests::handle keeps the last 200.
#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "work.h"

class Index {
 public:
  __attribute__((noinline)) void add(long n) {
    terms_["term " + std::to_string(n * 7919 % 1000003)] = std::make_unique<std::string>(1200, char('a' + n % 26));
  }
  size_t size() const { return terms_.size(); }

 private:
  std::map<std::string, std::unique_ptr<std::string>> terms_;
};

class Requests {
 public:
  explicit Requests(bool keeps) : keeps_(keeps) {}
  __attribute__((noinline)) void handle(long n) {
    char* request = new char[640];
    std::memset(request, int(n % 251), 640);
    if (!keeps_) {
      last_ = request;  // the one before is lost
      return;
    }
    recent_.emplace_back(request);
    if (recent_.size() > 200) recent_.pop_front();
  }
  char last() const { return last_ ? last_[0] : 0; }

 private:
  bool keeps_;
  char* last_ = nullptr;
  std::deque<std::unique_ptr<char[]>> recent_;
};

int main(int argc, char** argv) {
  Requests requests(argc > 1 && std::string(argv[1]) == "keep");
  Index index;
  Clock build(1, argv, 800);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(18);
  while (std::chrono::steady_clock::now() < end && build.next()) index.add(build.tick());
  Clock clock(1, argv, 150);
  while (clock.next()) requests.handle(clock.tick());
  return int(index.size() + size_t(requests.last())) & 1;
}
