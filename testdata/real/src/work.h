// What the recorded programs share: a clock of even ticks, and sizes that are the same in every run.
//
//   program [SECONDS [fast]]    for ever without SECONDS; "fast" does not wait between ticks (for valgrind)
#pragma once

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

class Clock {
 public:
  Clock(int argc, char** argv, int rate)
      : rate_(rate), ticks_(argc > 1 ? std::atol(argv[1]) * rate : 0), fast_(argc > 2 && std::string(argv[2]) == "fast") {}

  // next waits for the next of `rate` ticks a second, and is false when SECONDS are over.
  bool next() {
    if (ticks_ > 0 && tick_ >= ticks_) return false;
    tick_++;
    if (!fast_) std::this_thread::sleep_until(start_ + std::chrono::microseconds(tick_ * 1000000 / rate_));
    return true;
  }

  long tick() const { return tick_; }
  double seconds() const { return double(tick_) / rate_; }
  // every is true once in each period, in seconds.
  bool every(double period) const { return tick_ % long(period * rate_) == 0; }

 private:
  long rate_, ticks_, tick_ = 0;
  bool fast_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Dice {
 public:
  long between(long low, long high) { return std::uniform_int_distribution<long>(low, high)(random_); }
  bool one_in(long n) { return between(1, n) == 1; }

 private:
  std::mt19937 random_{20240229};
};
