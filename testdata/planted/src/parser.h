// Requests as trees; sessions keep their latest ones.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "load.h"

namespace shop {

struct Node {
  std::string name;
  std::vector<std::unique_ptr<Node>> children;
};

class Parser {
 public:
  std::unique_ptr<Node> parse(Load& load, int depth);

 private:
  std::string word(Load& load);
};

}  // namespace shop
