// NO LEAK: a queue. The consumer stands still from 10 to 22 s (a backlog of 4.7 MiB), works it off by 34 s, and keeps up from then on.
#include <queue>
#include <vector>

#include "work.h"

class Mailbox {
 public:
  void put(Dice& dice) { letters_.push(compose(dice)); }
  size_t take() {
    if (letters_.empty()) return 0;
    size_t n = letters_.front().size();
    letters_.pop();
    return n;
  }

 private:
  static std::vector<char> compose(Dice& dice) { return std::vector<char>(size_t(dice.between(1 << 10, 3 << 10)), 'l'); }
  std::queue<std::vector<char>> letters_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 200);
  Dice dice;
  Mailbox mailbox;
  size_t sum = 0;
  while (clock.next()) {
    double now = clock.seconds();
    mailbox.put(dice);
    for (int i = now > 10 && now < 22 ? 0 : 2; i > 0; i--) sum += mailbox.take();
  }
  return sum == 1;
}
