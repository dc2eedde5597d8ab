// LEAK spread over 96 call paths: Registry::remember (400 B, 240 a second = 94 KiB/s) is called by 48 handlers, each on two ways; no single
// path grows by more than 40 KiB.
#include <array>
#include <utility>

#include "work.h"

class Registry {
 public:
  __attribute__((noinline)) void remember(int kind) {
    auto* e = new Entry;
    e->kind = kind;
    last_ = e;  // the one before is lost
  }
  int last() const { return last_ ? last_->kind : 0; }

 private:
  struct Entry {
    int kind;
    char note[396];
  };
  Entry* last_ = nullptr;
};

template <int N>
__attribute__((noinline)) void handle(Registry& r, Dice& dice) {
  std::string body(size_t(dice.between(20, 100 + 20 * N)), 'b');
  if (body.size() % 2 == 0) body += "even";
  r.remember(N + int(body.size()));
  if (body.size() == 3) r.remember(N);  // no tail call
}

using Handler = void (*)(Registry&, Dice&);

template <int... N>
constexpr std::array<Handler, sizeof...(N)> handlers(std::integer_sequence<int, N...>) {
  return {handle<N>...};
}
constexpr auto kHandlers = handlers(std::make_integer_sequence<int, 48>());

__attribute__((noinline)) static long from_http(long n, Registry& r, Dice& dice) {
  kHandlers[size_t(n) % 48](r, dice);
  return n + r.last();
}

__attribute__((noinline)) static long from_queue(long n, Registry& r, Dice& dice) {
  kHandlers[size_t(n) % 48](r, dice);
  return n - r.last();
}

int main(int argc, char** argv) {
  Clock clock(argc, argv, 240);
  Dice dice;
  Registry registry;
  long sum = 0;
  while (clock.next()) sum += dice.one_in(2) ? from_http(clock.tick(), registry, dice) : from_queue(clock.tick(), registry, dice);
  return sum == 1;
}
