// NO LEAK: requests live 3 s each, with 2 to 6 KiB; their rate rises from 40 to 400 a second over 40 s, so what is in flight
// rises from 0.5 to 5 MiB, to the end of the recording.
#include <deque>
#include <vector>

#include "work.h"

class Inflight {
 public:
  void accept(double now, Dice& dice) { open_.push_back({now + 3, read_body(dice)}); }
  void finish(double now) {
    while (!open_.empty() && open_.front().until < now) open_.pop_front();
  }
  size_t size() const { return open_.size(); }

 private:
  struct Request {
    double until;
    std::vector<char> body;
  };
  static std::vector<char> read_body(Dice& dice) { return std::vector<char>(size_t(dice.between(2 << 10, 6 << 10)), 'b'); }
  std::deque<Request> open_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  Inflight inflight;
  size_t most = 0;
  double due = 0;
  while (clock.next()) {
    due += (40 + 360 * std::min(1.0, clock.seconds() / 40)) / 100;
    for (; due >= 1; due--) inflight.accept(clock.seconds(), dice);
    inflight.finish(clock.seconds());
    most = std::max(most, inflight.size());
  }
  return most == 1;
}
