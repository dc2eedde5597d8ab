#include "session.h"

#include <cstring>

namespace shop {

namespace {
constexpr std::size_t kSessions = 1200;
constexpr std::size_t kBasketBytes = 6 << 10;
}  // namespace

// open lets the first sessions in: some 7 MiB of baskets, 2 MiB of requests.
void Sessions::open(Load& load) {
  for (std::size_t n = load.about(kSessions, 2); n > 0; n--) open_.push_back(Session{basket(load), parser_.parse(load, 1)});
}

// handle answers a burst of requests: each session that leaves is followed by another one.
void Sessions::handle(Load& load) {
  for (int i = 0; i < 60; i++) {
    open_.pop_front();
    open_.push_back(Session{basket(load), parser_.parse(load, 1)});
  }
}

std::unique_ptr<char[]> Sessions::basket(Load& load) {
  const std::size_t size = kBasketBytes + load.below(512);
  std::unique_ptr<char[]> out(new char[size]);
  std::memset(out.get(), 0, 64);
  return out;
}

}  // namespace shop
