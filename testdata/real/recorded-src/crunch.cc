// A program that never waits: how far it gets in a second depends on the machine.
//   crunch lose    LEAK: Solver::note forgets 1,024 B of each step.
//   crunch memo    no leak: Solver::note fills a table of 12,000 entries, fewer and fewer of them new (the step's number is drawn at random).
//   crunch batch   no leak: Solver::note gathers 4,000 entries, which are then freed, again and again.
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "work.h"

class Solver {
 public:
  explicit Solver(std::string mode) : mode_(std::move(mode)) {}

  __attribute__((noinline)) void note(long n, Dice& dice) {
    if (mode_ == "memo") {
      auto& entry = memo_[dice.between(1, 12000)];
      if (!entry) entry = std::make_unique<char[]>(1024);
      entry[0] = char(n);
      return;
    }
    auto entry = std::make_unique<char[]>(1024);
    entry[0] = char(n);
    if (mode_ == "batch") {
      batch_.push_back(std::move(entry));
      if (batch_.size() == 4000) batch_.clear();
      return;
    }
    last_ = entry.release();  // the one before is lost
  }
  __attribute__((noinline)) double step(Dice& dice) {
    std::vector<std::vector<double>> matrix;
    for (int i = 0; i < 40; i++) matrix.emplace_back(size_t(dice.between(100, 300)), 1.0 / (i + 1));
    double sum = 0;
    for (int round = 0; round < 12; round++)
      for (auto& row : matrix)
        for (double& cell : row) sum += cell = cell * 0.999 + sum * 1e-9;
    return sum;
  }
  char last() const { return last_ ? last_[0] : 0; }

 private:
  std::string mode_;
  char* last_ = nullptr;
  std::unordered_map<long, std::unique_ptr<char[]>> memo_;
  std::vector<std::unique_ptr<char[]>> batch_;
};

int main(int argc, char** argv) {
  Solver solver(argc > 1 ? argv[1] : "lose");
  Dice dice;
  double sum = 0;
  for (long n = 0; sum > -1; n++) {
    sum = solver.step(dice);
    solver.note(n, dice);
  }
  return solver.last();
}
