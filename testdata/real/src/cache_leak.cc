// LEAK next to a filling cache, at the same call: PageCache::load makes both the pages that fill the cache
// (2,000 of 4 KiB = 8 MiB, drawn at random, so ever more slowly) and those that replace a page that has grown old;
// the replaced one is never freed. 30 a second x 4 KiB = 120 KiB/s of leak.
#include <unordered_map>

#include "work.h"

struct Page {
  char bytes[4096];
};

class PageCache {
 public:
  ~PageCache() {
    for (auto& p : pages_) delete p.second;
  }
  const Page& get(long key, bool stale) {
    auto& slot = pages_[key];
    if (slot == nullptr || stale) slot = load(key);  // the stale page is lost
    return *slot;
  }

 private:
  Page* load(long key) {
    auto* p = new Page;
    for (char& b : p->bytes) b = char(key);
    return p;
  }
  std::unordered_map<long, Page*> pages_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 240);
  Dice dice;
  PageCache cache;
  long sum = 0;
  while (clock.next()) sum += cache.get(dice.between(1, 2000), dice.one_in(8)).bytes[7];
  return sum == 1;
}
