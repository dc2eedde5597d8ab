// Pages are stored at one call, which does two things: it fills a cache, and it may lose pages.
//   early_cache SECONDS|- lose BYTES [fast]   LEAK: Store::put fills a cache of BYTES within 9 s, and from the start it forgets every
//                                             eighth page that it stores: 25 a second x 4 KiB = 100 KiB/s, a straight line.
//   early_cache SECONDS|- keep BYTES [fast]   no leak: the same without the pages that are forgotten.
// The cache is full long before half of the recording, and nothing of it is freed: a page is overwritten in its place.
#include <cstring>
#include <memory>
#include <vector>

#include "work.h"

class Store {
 public:
  Store(bool loses, size_t pages) : loses_(loses), cache_(pages) {}

  __attribute__((noinline)) void put(long n) {
    auto& slot = cache_[size_t(n) % cache_.size()];
    for (int wanted = !slot + (loses_ && n % 8 == 0); wanted > 0; wanted--) {
      char* page = new char[4096];
      if (!slot)
        slot.reset(page);
      else
        last_ = page;  // the one before is lost
    }
    std::memset(slot.get(), int(n % 251), 4096);
  }
  char last() const { return last_ ? last_[0] : 0; }

 private:
  bool loses_;
  std::vector<std::unique_ptr<char[]>> cache_;
  char* last_ = nullptr;
};

static unsigned render(Dice& dice) {
  std::string text(size_t(dice.between(2000, 20000)), 't');
  unsigned sum = 0;
  for (char c : text) sum = sum * 31 + unsigned(c);
  return sum;
}

int main(int argc, char** argv) {
  bool loses = argc > 2 && std::string(argv[2]) == "lose";
  size_t pages = argc > 3 ? size_t(std::atol(argv[3])) / 4096 : 1700;
  bool fast = argc > 4;
  char seconds[32] = "0", mode[8] = "fast";
  if (argc > 1 && argv[1][0] != '-') std::snprintf(seconds, sizeof seconds, "%s", argv[1]);
  char* clock_args[] = {argv[0], seconds, mode};
  Clock clock(fast ? 3 : 2, clock_args, 200);
  Dice dice;
  Store store(loses, pages);
  unsigned sum = 0;
  while (clock.next()) {
    store.put(clock.tick());
    sum += render(dice);
  }
  return int((sum + unsigned(store.last())) & 1);
}
