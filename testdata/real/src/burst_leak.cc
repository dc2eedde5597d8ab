// LEAK in bursts: the log lines that wait while the disk is slow (at 4, 11, 17, 28 and 35 s, for half a second) are never taken from
// the list again: 5 times 600 x 1 KiB = 3 MiB in all, nothing in between.
#include <set>
#include <vector>

#include "work.h"

struct Line {
  char text[1024];
  Line* next;
};

class Log {
 public:
  void write(long n, bool slow) {
    Line* line = compose(n);
    if (slow) {
      line->next = waiting_;
      waiting_ = line;  // for ever
    } else {
      written_ += line->text[0];
      delete line;
    }
  }
  long written() const { return written_; }

 private:
  __attribute__((noinline)) static Line* compose(long n) {
    auto* line = new Line;
    line->text[0] = char(n);
    return line;
  }
  Line* waiting_ = nullptr;
  long written_ = 0;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Log log;
  const std::set<long> slow{4, 11, 17, 28, 35};
  while (clock.next()) {
    bool is_slow = slow.count(clock.tick() / 100) > 0 && clock.tick() % 100 < 50;
    for (int i = 0; i < (is_slow ? 12 : 6); i++) log.write(clock.tick(), is_slow);
  }
  return log.written() == 1;
}
