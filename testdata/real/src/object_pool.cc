// NO LEAK: a pool that never frees objects: it grows only when more objects are in use at once than ever before. The demand is
// random, so new records become rare; the bound is 1,200 objects of 8 KiB.
#include <memory>
#include <vector>

#include "work.h"

struct Buffer {
  char bytes[8192];
};

class BufferPool {
 public:
  Buffer* get() {
    if (free_.empty()) grow();
    Buffer* b = free_.back();
    free_.pop_back();
    return b;
  }
  void put(Buffer* b) { free_.push_back(b); }

 private:
  void grow() {
    all_.push_back(std::make_unique<Buffer>());
    free_.push_back(all_.back().get());
  }
  std::vector<std::unique_ptr<Buffer>> all_;
  std::vector<Buffer*> free_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  BufferPool pool;
  std::vector<Buffer*> out;
  long want = 0;
  size_t used = 0;
  while (clock.next()) {
    if (clock.every(1.5)) want = dice.between(1, 600) * dice.between(1, 600) / 300;
    while (long(out.size()) < want) out.push_back(pool.get());
    while (long(out.size()) > want) {
      pool.put(out.back());
      out.pop_back();
    }
    used += std::string(size_t(want) + 100, 'u').size();
  }
  return used == 1;
}
