// LEAK: std::unordered_map of counters by client and port, in which nothing is ever deleted: 300 new ones a second, 300 B each, 90 KiB/s; the
// map's own table doubles at times.
#include <unordered_map>

#include "work.h"

struct Counters {
  long requests = 0;
  long histogram[25] = {};
};

class Metrics {
 public:
  void count(const std::string& client, long size) {
    Counters& c = clients_[client];
    c.requests++;
    c.histogram[size % 25]++;
  }

 private:
  std::unordered_map<std::string, Counters> clients_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 300);
  Dice dice;
  Metrics metrics;
  while (clock.next()) {
    std::string reply(size_t(dice.between(100, 3000)), 'r');
    metrics.count("2001:db8::" + std::to_string(clock.tick()) + ":" + std::to_string(dice.between(10000, 60000)), long(reply.size()));
  }
}
