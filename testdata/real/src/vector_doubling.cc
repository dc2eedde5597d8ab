// NO LEAK: sixteen time series in std::vector, which double when they are full, up to 65,536 points of 16 B = 1 MiB each; from
// then on the oldest point is overwritten. They fill at different speeds; the last doubling is after 23 s.
#include <array>
#include <vector>

#include "work.h"

struct Point {
  double time, value;
};

class History {
 public:
  void add(Point p) {
    if (points_.size() < kLimit) {
      points_.push_back(p);
    } else {
      points_[next_++ % kLimit] = p;
    }
  }
  size_t size() const { return points_.size(); }

 private:
  static constexpr size_t kLimit = 65536;
  std::vector<Point> points_;
  size_t next_ = 0;
};

class Monitor {
 public:
  // collect adds 14 to 89 points to each series.
  void collect(double now) {
    for (size_t i = 0; i < series_.size(); i++) {
      for (size_t n = 0; n < 14 + 5 * i; n++) series_[i].add({now, double(n)});
    }
  }
  size_t size() const { return series_[0].size(); }

 private:
  std::array<History, 16> series_;
};

static size_t format(Dice& dice) {
  return (std::string(dice.between(100, 2000), 'r') + "report").size();
}

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  Monitor monitor;
  size_t sum = 0;
  while (clock.next()) {
    monitor.collect(clock.seconds());
    sum += format(dice);
  }
  return sum + monitor.size() == 1;
}
