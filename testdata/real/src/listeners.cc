// LEAK: each request adds a callback to the shutdown event and none takes it away: std::function with what it captured, 250 a second x 350 B =
// 85 KiB/s, in a std::vector that doubles.
#include <array>
#include <functional>
#include <vector>

#include "work.h"

class Event {
 public:
  void subscribe(std::function<long()> f) { listeners_.push_back(std::move(f)); }
  long fire() const {
    long sum = 0;
    for (auto& f : listeners_) sum += f();
    return sum;
  }

 private:
  std::vector<std::function<long()>> listeners_;
};

class Handler {
 public:
  explicit Handler(Event& shutdown) : shutdown_(shutdown) {}
  size_t handle(Dice& dice) {
    std::array<long, 40> state;
    state.fill(dice.between(1, 9));
    shutdown_.subscribe([state] { return state[7]; });
    return std::string(size_t(dice.between(100, 2000)), 'r').size();
  }

 private:
  Event& shutdown_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 250);
  Dice dice;
  Event shutdown;
  Handler handler(shutdown);
  size_t sum = 0;
  while (clock.next()) sum += handler.handle(dice);
  return sum + size_t(shutdown.fire()) == 1;
}
