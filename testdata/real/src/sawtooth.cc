// NO LEAK: rows are collected for 6.5 s, then written and freed: a sawtooth of 4 MiB.
#include <memory>
#include <vector>

#include "work.h"

struct Row {
  char cells[800];
};

class Batch {
 public:
  void collect(long n) {
    rows_.push_back(std::make_unique<Row>());
    rows_.back()->cells[n % 800] = 'c';
  }
  size_t flush() {
    std::string out;
    for (auto& r : rows_) out.append(r->cells, 16);
    rows_.clear();
    return out.size();
  }

 private:
  std::vector<std::unique_ptr<Row>> rows_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Batch batch;
  size_t written = 0;
  while (clock.next()) {
    for (int i = 0; i < 8; i++) batch.collect(clock.tick());
    if (clock.every(6.5)) written += batch.flush();
  }
  return written == 1;
}
