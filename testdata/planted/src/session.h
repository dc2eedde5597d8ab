// Who is here, and what they asked last.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "parser.h"

namespace shop {

struct Session {
  std::unique_ptr<char[]> basket;
  std::unique_ptr<Node> last;
};

class Sessions {
 public:
  void open(Load& load);
  void handle(Load& load);
  std::size_t count() const { return open_.size(); }

 private:
  std::unique_ptr<char[]> basket(Load& load);

  Parser parser_;
  std::deque<Session> open_;
};

}  // namespace shop
