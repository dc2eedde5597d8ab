// A batch program that works for some 40 s and frees its arena before it exits, which is less than half of its heap.
//   arena_exit lose   LEAK: Batch::post forgets 1,500 B of each of 20,000 records: 29 MiB in all.
//   arena_exit keep   no leak: Batch::post puts them into a table of the last 6,000 records (8.6 MiB, full after 12 s).
// Beside it: the arena of 18 MiB, filled at the start. The process sleeps a second after the arena is freed.
#include <cstring>
#include <memory>
#include <vector>

#include "work.h"

class Arena {
 public:
  __attribute__((noinline)) void fill() {
    for (int i = 0; i < 288; i++) blocks_.push_back(std::make_unique<std::string>(64 << 10, char('a' + i % 26)));
  }
  char at(long i) const { return (*blocks_[size_t(i) % blocks_.size()])[size_t(i) % 65536]; }

 private:
  std::vector<std::unique_ptr<std::string>> blocks_;
};

class Batch {
 public:
  explicit Batch(bool keeps) : keeps_(keeps), table_(6000) {}
  __attribute__((noinline)) void post(long n, char c) {
    auto record = std::make_unique<char[]>(1500);
    std::memset(record.get(), c, 1500);
    if (keeps_)
      table_[size_t(n) % table_.size()] = std::move(record);
    else
      last_ = record.release();  // the one before is lost
  }
  char any() const { return keeps_ ? table_[1][0] : last_[0]; }

 private:
  bool keeps_;
  char* last_ = nullptr;
  std::vector<std::unique_ptr<char[]>> table_;
};

int main(int argc, char** argv) {
  Batch batch(argc > 1 && std::string(argv[1]) == "keep");
  Clock clock(1, argv, argc > 2 ? 1000000 : 500);  // any third word: without pauses, for valgrind
  {
    Arena arena;
    arena.fill();
    while (clock.tick() < 20000 && clock.next()) batch.post(clock.tick(), arena.at(clock.tick() * 977));
  }
  if (argc < 3) std::this_thread::sleep_for(std::chrono::seconds(1));
  return batch.any() == 1;
}
