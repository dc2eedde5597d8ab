// NO LEAK: a table of rules that is read anew every 9 s; the new one is complete before the old one is freed, and from the third on it
// is larger: 2 MiB, then 4.5 MiB (in 1 KiB rules), with twice that for a moment.
#include <memory>
#include <vector>

#include "work.h"

struct Rule {
  char pattern[1024];
};

class Rules {
 public:
  explicit Rules(long n) {
    for (long i = 0; i < n; i++) {
      rules_.push_back(std::make_unique<Rule>());
      rules_.back()->pattern[0] = char(i);
    }
  }
  bool match(const std::string& s) const { return rules_[s.size() % rules_.size()]->pattern[0] == s[0]; }

 private:
  std::vector<std::unique_ptr<Rule>> rules_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  auto rules = std::make_unique<Rules>(2000);
  long hits = 0;
  while (clock.next()) {
    if (clock.every(9)) rules = std::make_unique<Rules>(clock.seconds() < 15 ? 2000 : 4500);
    hits += rules->match(std::string(size_t(dice.between(10, 3000)), 'm'));
  }
  return hits == 1;
}
