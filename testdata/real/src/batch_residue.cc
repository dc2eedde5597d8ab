// LEAK, in jumps: every 3 s a batch of 4,000 rows of 700 B (2.7 MiB) is read and written; of the rows that are refused (1 in 14) the pointer is
// dropped: 195 KiB a batch, 65 KiB/s. A snapshot sees the batch (which lives 1.5 s) or only what it left.
#include <vector>

#include "work.h"

struct Row {
  long key;
  char cells[692];
};

class Importer {
 public:
  void read(Dice& dice) {
    for (int i = 0; i < 4000; i++) rows_.push_back(parse_row(dice));
  }
  long write() {
    long sum = 0;
    for (Row* r : rows_) {
      if (r->key % 14 == 0) continue;  // refused, and lost
      sum += r->key;
      delete r;
    }
    rows_.clear();
    return sum;
  }

 private:
  static Row* parse_row(Dice& dice) {
    auto* r = new Row;
    r->key = dice.between(0, 1 << 20);
    r->cells[0] = char(r->key);
    return r;
  }
  std::vector<Row*> rows_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 20);
  Dice dice;
  Importer importer;
  long sum = 0;
  while (clock.next()) {
    sum += long(std::string(size_t(dice.between(100, 900)), 'l').size());  // a line of the log
    if (clock.every(3)) importer.read(dice);
    if (clock.tick() % 60 == 30) sum += importer.write();
  }
  return sum == 1;
}
