// Load in a cycle of 12 s; calls live 1 s with 4 to 20 KiB: in use goes from 0.4 to 5 MiB and back, four times.
//
//   daily_cycle SECONDS fast|- keep     NO LEAK
//   daily_cycle SECONDS fast|- lose     LEAK: the recording of each 25th call is not freed, 106 KiB/s on average, with the load
#include <cmath>
#include <deque>
#include <vector>

#include "work.h"

class Switchboard {
 public:
  explicit Switchboard(bool lose) : lose_(lose) {}
  ~Switchboard() { hang_up(1e9); }
  void connect(double now, Dice& dice) {
    Call* c = new Call{now + 1, record(dice)};
    calls_.push_back(c);
  }
  void hang_up(double now) {
    while (!calls_.empty() && calls_.front()->until < now) {
      if (!lose_ || ++ended_ % 25 != 0) delete calls_.front();
      calls_.pop_front();
    }
  }

 private:
  struct Call {
    double until;
    std::vector<char> voice;
  };
  static std::vector<char> record(Dice& dice) { return std::vector<char>(size_t(dice.between(4 << 10, 20 << 10)), 'v'); }
  std::deque<Call*> calls_;
  long ended_ = 0;
  bool lose_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  Switchboard board(argc > 3 && std::string(argv[3]) == "lose");
  double due = 0;
  while (clock.next()) {
    due += (220 - 190 * std::cos(clock.seconds() * 2 * M_PI / 12)) / 100;
    for (; due >= 1; due--) board.connect(clock.seconds(), dice);
    board.hang_up(clock.seconds());
  }
}
