// A shop that is busy for 24 s, idle for 30 s, and busy for another 24 s: two days and the night between them. By day it takes
// 250 orders a second, and formats a reply to each. In the idle time it does nothing.
//   night lose   LEAK: Orders::take forgets the 640 B of every order, 156 KiB/s by day.
//   night keep   no leak: Orders::take keeps the last 3000, half of those of a day.
#include <cstring>
#include <deque>
#include <memory>

#include "work.h"

class Orders {
 public:
  explicit Orders(bool keeps) : keeps_(keeps) {}
  __attribute__((noinline)) void take(long n) {
    char* order = new char[640];
    std::memset(order, int(n % 251), 640);
    if (!keeps_) {
      last_ = order;  // the one before is lost
      return;
    }
    recent_.emplace_back(order);
    if (recent_.size() > 3000) recent_.pop_front();
  }
  char last() const { return last_ ? last_[0] : 0; }

 private:
  bool keeps_;
  char* last_ = nullptr;
  std::deque<std::unique_ptr<char[]>> recent_;
};

__attribute__((noinline)) size_t reply(long n) { return std::string(6000, char('a' + n % 26)).find('z'); }

int main(int argc, char** argv) {
  Orders orders(argc > 1 && std::string(argv[1]) == "keep");
  size_t sum = 0;
  for (int day = 0; day < 2; day++) {
    if (day > 0) std::this_thread::sleep_for(std::chrono::seconds(30));
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(24);
    for (Clock clock(1, argv, 250); std::chrono::steady_clock::now() < end && clock.next();) {
      orders.take(clock.tick());
      sum += reply(clock.tick());
    }
  }
  return int(sum + size_t(orders.last())) & 1;
}
